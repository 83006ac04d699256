// The frame: colour scheme, navigation, search, logout, and what a new page begins with.
(function () {
  "use strict";

  const { clientside, find, here, noUpdate, scheme, served, setProps, stored } = window.bapo;

  // The one project whose runs an address lists.
  function projectOf(query) {
    const names = here() === "/runs" ? (query.get("project") || "").split(",") : [""];
    return names.length === 1 && names[0] ? decodeURIComponent(names[0]) : null;
  }

  // On a page of another kind the choice stays.
  addEventListener("bapo:view", ({ detail: query }) => {
    if (here() === "/runs" && find("project")) setProps("project", { value: projectOf(query) });
  });

  clientside.shell = {
    scheme(clicks) {
      const isDark = (scheme() === "dark") !== Boolean(clicks);
      const chosen = isDark ? "dark" : "light";
      if (clicks) stored("mantine-color-scheme-value").write(chosen); // Mantine reads it at the next start.
      return [chosen, chosen];
    },

    navbar(opened, navbar) {
      return { ...navbar, collapsed: { mobile: !opened } };
    },

    // Another page is asked for, and so is the open one while another is on its way; a view of the open one is none.
    ask(path, search, route, asked) {
      if (path === route && (!asked || asked.path === path)) return noUpdate();
      // What it is drawn with is fetched while the server makes it.
      dispatchEvent(new CustomEvent("bapo:asked", { detail: path }));
      return { path: path || "/", search: search || "" };
    },

    // To another page: its link is marked, and the navigation closes where it covers the page.
    go(path) {
      for (const link of document.querySelectorAll(".shell-nav a")) {
        if (link.getAttribute("href") === served(path)) link.setAttribute("aria-current", "page");
        else link.removeAttribute("aria-current");
      }
      scrollTo(0, 0);
      return false;
    },

    logout(clicks) {
      if (!clicks) return noUpdate();
      fetch(served("/logout"), { method: "POST" })
        .then((answer) => answer.json())
        .then(({ address }) => location.assign(address)) // After single sign-on it is the provider's.
        .catch(() => location.assign(served("/login")));
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

  // ---------------------------------------------------------------- another page

  const WAIT_MS = 25, MOST_WAITS = 80;
  let last = null; // The heading of the page before, and its text.

  const heading = () => document.querySelector("#page h1, #page h2");

  // Once the new page is drawn: its heading names the window and takes the focus.
  function arrive(isFirst, waits = MOST_WAITS) {
    const now = heading();
    if ((!now || (now === last?.element && now.textContent === last.text)) && waits) {
      setTimeout(() => arrive(isFirst, waits - 1), WAIT_MS);
      return;
    }
    if (!now) return;
    last = { element: now, text: now.textContent };
    document.title = `${now.textContent} · BAPO`;
    // Keep a focus that is in a field, in a dialog or already on the new page.
    if (!isFirst && !document.activeElement?.closest?.("#page, [role=dialog], dialog, input, textarea")) focusOn(now);
  }

  function focusOn(element) {
    element.tabIndex = -1;
    element.focus({ preventScroll: true });
  }

  clientside.shell.arrived = (route) => {
    // For menus and dialogs, which are drawn outside the frame. A `:has()` selector on the document would be
    // recalculated whenever anything is drawn.
    document.documentElement.classList.toggle("only-looks", Boolean(find("appshell")?.classList.contains("only-looks")));
    if (route) arrive(last === null);
    return noUpdate();
  };

  // The link above everything else, for those who would have to go through the navigation on every page.
  document.addEventListener("click", (event) => {
    if (!event.target.closest?.(".skip-link")) return;
    event.preventDefault(); // The address stays the page's.
    focusOn(find("page"));
    find("page").scrollIntoView();
  });
})();
