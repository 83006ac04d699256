// The frame: colour scheme, navigation, search, logout.
(function () {
  "use strict";

  window.dash_clientside = window.dash_clientside || {};
  const clientside = window.dash_clientside;
  const noUpdate = () => clientside.no_update;

  clientside.shell = {
    scheme(clicks) {
      const root = document.documentElement;
      let scheme = root.getAttribute("data-mantine-color-scheme") === "dark" ? "dark" : "light";
      if (clicks) {
        scheme = scheme === "dark" ? "light" : "dark";
        try {
          localStorage.setItem("mantine-color-scheme-value", scheme); // Mantine reads it at the next start.
        } catch (error) {
          // Not remembered where storage is forbidden.
        }
      }
      return [scheme, scheme];
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

    search(submits, text) {
      if (!submits) return noUpdate();
      return text ? `/runs?search=${encodeURIComponent(text)}` : "/runs";
    },
  };

  document.addEventListener("keydown", (event) => {
    const typing = /^(INPUT|TEXTAREA|SELECT)$/.test(event.target.tagName) || event.target.isContentEditable;
    if (event.key === "/" && !typing && !event.ctrlKey && !event.metaKey) {
      const field = document.getElementById("search");
      if (field && field.offsetParent !== null) {
        event.preventDefault();
        field.focus();
        field.select();
      }
    }
  });
})();
