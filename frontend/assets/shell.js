// The frame: colour scheme, navigation, search, logout.
(function () {
  "use strict";

  const { clientside, find, noUpdate, scheme, setProps } = window.bapo;

  // The one project whose runs an address lists.
  function projectOf(query) {
    const names = location.pathname === "/runs" ? (query.get("project") || "").split(",") : [""];
    return names.length === 1 && names[0] ? decodeURIComponent(names[0]) : null;
  }

  // On a page of another kind the choice stays.
  addEventListener("bapo:view", ({ detail: query }) => {
    if (location.pathname === "/runs" && find("project")) setProps("project", { value: projectOf(query) });
  });

  clientside.shell = {
    scheme(clicks) {
      const isDark = (scheme() === "dark") !== Boolean(clicks);
      const chosen = isDark ? "dark" : "light";
      if (clicks) {
        try {
          localStorage.setItem("mantine-color-scheme-value", chosen); // Mantine reads it at the next start.
        } catch {
          // Not remembered where storage is forbidden.
        }
      }
      return [chosen, chosen];
    },

    navbar(opened, navbar) {
      return { ...navbar, collapsed: { mobile: !opened } };
    },

    closeNavigation() {
      scrollTo(0, 0);
      return false;
    },

    logout(clicks) {
      if (!clicks) return noUpdate();
      fetch("/logout", { method: "POST", redirect: "manual" }).then(() => location.assign("/login"));
      return true;
    },

    project(name) {
      const listed = projectOf(new URLSearchParams(location.search));
      if ((name || null) === listed) return noUpdate(); // The address said so.
      return name ? `/runs?project=${encodeURIComponent(encodeURIComponent(name))}` : "/runs";
    },

    search(submits, text) {
      if (!submits) return noUpdate();
      return text ? `/runs?search=${encodeURIComponent(text)}` : "/runs";
    },
  };

  document.addEventListener("keydown", (event) => {
    const typing = /^(INPUT|TEXTAREA|SELECT)$/.test(event.target.tagName) || event.target.isContentEditable;
    if (event.key === "/" && !typing && !event.ctrlKey && !event.metaKey) {
      const field = find("search");
      if (field && field.offsetParent !== null) {
        event.preventDefault();
        field.focus();
        field.select();
      }
    }
  });
})();
