// Every shortcut of the dashboard, in one table: for the listener, the sheet behind `?`, the palette and the docs.
// Single keys do nothing in text fields, dialogs and menus, and once they are switched off.
(function () {
  "use strict";

  const { button, closeDialog, dialog, find, isCovered, make, served, setProps, stored } = window.bapo;

  const single = stored("bapo-single-keys");
  const SEQUENCE_MS = 1500;

  // The pages of the navigation: the letter after g.
  const PAGES = [
    ["r", "Runs", "/runs"], ["n", "New run", "/new"], ["c", "Compare", "/compare"], ["p", "Paper view", "/paper"],
    ["b", "Boards", "/boards"], ["s", "Studies", "/studies"], ["q", "Queue", "/queue"], ["w", "Workers", "/workers"],
    ["d", "Data & models", "/data"], ["m", "Prompts", "/prompts"], ["a", "Alerts", "/alerts"],
  ];

  const onRunPage = () => Boolean(find("run-tabs"));
  const onRunList = () => Boolean(find("runs-grid-box"));

  // ---------------------------------------------------------------- what the page offers

  const isOffered = (element) => Boolean(element && !element.disabled && element.checkVisibility());

  // The navigation may be out of sight on a phone; a page that this person may not use is not displayed in it at all.
  const linkTo = (href) =>
    [...document.querySelectorAll(".shell-nav a")].find((each) => each.getAttribute("href") === served(href) && getComputedStyle(each).display !== "none");

  // Opens another page without reloading the document.
  function visit(pathname) {
    setProps("url", { pathname, search: "" });
    return true;
  }

  const go = (href) => Boolean(linkTo(href)) && visit(href);

  function press(element) {
    if (!isOffered(element)) return false;
    element.focus();
    element.click();
    return true;
  }

  function search() {
    const field = find("search");
    if (!isOffered(field)) return window.bapoPalette.open(); // Narrow windows have no field.
    field.focus();
    field.select();
    return true;
  }

  const changeButton = () => document.querySelector('[id*="run-action"][id*="change"]');

  function turn(by) {
    const tabs = [...document.querySelectorAll("#run-tabs [role=tab]")];
    const open = tabs.findIndex((each) => each.getAttribute("aria-selected") === "true");
    return press(tabs[(open + by + tabs.length) % tabs.length]);
  }

  // ---------------------------------------------------------------- the table

  const EVERYWHERE = "Everywhere", GO = "Go to a page", RUN = "On the page of a run", LIST = "In the run list", CHART = "At a chart";
  const SECTIONS = [
    [RUN, onRunPage], [LIST, onRunList], [CHART, () => Boolean(document.querySelector(".chart-menu-button"))],
    [EVERYWHERE, () => true], [GO, () => true],
  ];
  // Without `act` it is Ctrl+K, below, or another script's that listens to what has the focus. `when` says whether this person
  // has it here.
  const SHORTCUTS = [
    { section: EVERYWHERE, keys: "Ctrl+K", label: "Commands: pages, runs, and what this page offers" },
    { section: EVERYWHERE, keys: "/", label: "Search runs", act: search },
    { section: EVERYWHERE, keys: "n", label: "New run", when: () => linkTo("/new"), act: () => go("/new") },
    { section: EVERYWHERE, keys: "?", label: "Keyboard shortcuts", act: help },
    { section: EVERYWHERE, keys: "Esc", label: "Close what is open" },
    ...PAGES.map(([letter, label, href]) => ({ section: GO, keys: `g ${letter}`, label, when: () => linkTo(href), act: () => go(href) })),
    { section: RUN, keys: "[", label: "Previous tab", act: () => turn(-1) },
    { section: RUN, keys: "]", label: "Next tab", act: () => turn(1) },
    { section: RUN, keys: "c", label: "Change parameters", when: () => isOffered(changeButton()), act: () => press(changeButton()) },
    { section: RUN, keys: "s", label: "Star the run, or take the star away", act: () => press(find("run-star")) },
    { section: LIST, keys: "j", label: "Next run", act: () => window.bapoRuns.step(1) },
    { section: LIST, keys: "k", label: "Previous run", act: () => window.bapoRuns.step(-1) },
    { section: LIST, keys: "Enter", label: "Open the run of the row" },
    { section: LIST, keys: "Space", label: "Select the run of the row, or not" },
    { section: LIST, keys: "s", label: "Star the run of the row, or take the star away" },
    { section: CHART, keys: "Enter", label: "Open the menu, at its button: table, axis, full screen, downloads" },
  ];
  const isHere = new Map(SECTIONS);

  // ---------------------------------------------------------------- switched off

  const areOn = () => single.read() !== "off";
  const switchTo = (isOn) => single.write(isOn ? "on" : "off");

  // ---------------------------------------------------------------- pressing

  let first = null; // The key that began a sequence.
  let begun = 0;

  const isTyping = (target) =>
    target.isContentEditable ||
    Boolean(target.closest?.("input:not([type=checkbox], [type=radio]), textarea, select, [role=menu], [role=listbox], [role=dialog], dialog"));

  // The shortcut that a key completes here, or null; a key that may begin one is kept for the next.
  function completed(key, at) {
    const keys = first && at - begun < SEQUENCE_MS ? `${first} ${key}` : key;
    first = null;
    const found = SHORTCUTS.find((each) => each.act && each.keys === keys && isHere.get(each.section)());
    if (!found && !keys.includes(" ") && SHORTCUTS.some((each) => each.keys.startsWith(`${key} `))) {
      first = key;
      begun = at;
    }
    return found ?? null;
  }

  document.addEventListener("keydown", (event) => {
    // On some keyboards [ and ] need AltGr, which systems tell as Ctrl with Alt.
    const isWritten = event.getModifierState?.("AltGraph");
    const isCommand = (event.ctrlKey || event.metaKey) && !event.altKey && !event.shiftKey;
    if (isCommand && event.key.toLowerCase() === "k") {
      event.preventDefault(); // Or the browser's own search gets it.
      if (document.querySelector(".palette")) closeDialog();
      else if (!isCovered()) window.bapoPalette.open();
      return;
    }
    if (event.defaultPrevented || (!isWritten && (event.ctrlKey || event.metaKey || event.altKey))) return;
    if (event.key.length > 1 || event.repeat && event.key !== "j" && event.key !== "k") return;
    if (!areOn() || isTyping(event.target) || isCovered()) return;
    if (completed(event.key, performance.now())?.act()) event.preventDefault();
  });

  // ---------------------------------------------------------------- the sheet of help

  // "g r" is pressed one after the other, "Ctrl+K" together.
  function keysOf(keys) {
    const parts = keys.split(/([ +])/).filter((part) => part !== " ");
    return make("span", "keys", ...parts.map((part) => (part === "+" ? "+" : make("kbd", "key", part))));
  }

  const offered = () => SECTIONS.filter(([, holds]) => holds())
    .map(([section]) => [section, SHORTCUTS.filter((each) => each.section === section && (!each.when || each.when()))]);

  function help() {
    const sections = offered().map(([section, shortcuts]) => {
      const rows = shortcuts.map(({ keys, label }) => make("div", "shortcut", make("dt", "", keysOf(keys)), make("dd", "", label)));
      return make("section", "shortcut-section", make("h3", "shortcut-heading", section), make("dl", "shortcut-list", ...rows));
    });
    const box = make("input");
    Object.assign(box, { type: "checkbox", checked: areOn(), autofocus: true });
    box.addEventListener("change", () => switchTo(box.checked));
    const off = make("label", "shortcut-switch", box, "Single keys work in this browser. Ctrl+K (on a Mac ⌘K) always does.");
    const tour = button("Take the tour", "tour-link", () => {
      closeDialog();
      window.bapoTour.start();
    });
    dialog("Keyboard shortcuts", "shortcuts", [make("div", "sheet-body", off, tour, make("div", "shortcut-columns", ...sections))]);
    return true;
  }

  window.bapoKeys = { SHORTCUTS, PAGES, completed, help, isOffered, keysOf, linkTo, press, visit };
})();
