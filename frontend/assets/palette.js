// The command palette: pages, runs, and what this page offers to this person. It is made when it is opened and reads what
// it offers from the page, so that it never offers more. Names are text, never markup.
(function () {
  "use strict";

  const { ask, clientside, closeDialog, dialog, find, make, plural, served } = window.bapo;
  const { PAGES, help, isOffered, keysOf, linkTo, press, visit } = window.bapoKeys;

  const PAUSE_MS = 150;
  const MOST_RUNS = 8;
  const MOST_IN_GROUP = 30;
  const MOST_LETTERS = 200; // As the server takes them.
  const HERE = "This page", RUNS = "Runs", ALL = "Pages", OWN = "Account", MORE = "Help and view", TABLES = "Charts as tables";

  // As the menu at the top right has them; the others are for administrators.
  const ACCOUNT = [["Account", "/account"], ["Projects", "/projects"], ["Prices", "/prices"]];
  const ADMINISTRATION = [["People", "/people"], ["Worker tokens", "/worker-tokens"], ["Storage", "/storage"], ["Audit trail", "/audit"]];
  const DOCUMENTS = "/documents/README.md";
  const API = "/api/v1/docs";

  // ---------------------------------------------------------------- ranking

  // How well a label answers a text, the less the better: as it begins, as one of its words begins, anywhere; null if not.
  // Of several words each has to be found.
  function rank(text, label) {
    const wanted = text.toLowerCase().split(/\s+/).filter(Boolean);
    const name = label.toLowerCase();
    let worst = 0;
    for (const [index, word] of wanted.entries()) {
      const at = name.indexOf(word);
      if (at < 0) return null;
      const beginsWord = at === 0 || /[^\p{L}\p{N}]/u.test(name[at - 1]) || name.includes(` ${word}`);
      worst = Math.max(worst, at === 0 && index === 0 ? 0 : beginsWord ? 1 : 2);
    }
    return worst;
  }

  // Groups in the order of their best entry, and entries in theirs; what is equally good stays in order.
  function ranked(text, entries) {
    const groups = new Map();
    for (const entry of entries) {
      // The server has found the runs, by more than their names: those come last, as they come late, and Enter takes the first.
      const score = rank(text, entry.label) ?? (entry.group === RUNS ? 2 : null);
      if (score === null) continue;
      if (!groups.has(entry.group)) groups.set(entry.group, []);
      groups.get(entry.group).push({ entry, score });
    }
    const sorted = [...groups].map(([group, found]) => [group, found.toSorted((one, other) => one.score - other.score)]);
    return sorted.toSorted(([, [one]], [, [other]]) => one.score - other.score)
      .map(([group, found]) => [group, found.slice(0, MOST_IN_GROUP).map(({ entry }) => entry)]);
  }

  // ---------------------------------------------------------------- what there is

  const nameOf = (element) => (element.getAttribute("aria-label") || element.textContent).replace(/\s+/g, " ").trim();
  const inNewTab = (address) => () => window.open(address, "_blank", "noopener");

  // Where pages have the buttons that concern all of them.
  const HEADS = ".run-name-row, .run-actions, .page-actions, .runs-toolbar, .runs-bulk, .compare-head, .study-buttons, .alerts-tabs";

  function onPage() {
    const ways = [...document.querySelectorAll(`#page :is(${HEADS}) :is(button, a[href])`)].filter((each) => isOffered(each) && !each.parentElement.closest("a"));
    const actions = ways.map((each) => ({ group: HERE, label: nameOf(each), act: () => press(each) }));
    const tabs = [...document.querySelectorAll("#page [role=tab]")].filter(isOffered)
      .map((each) => ({ group: HERE, label: nameOf(each), hint: "tab", act: () => press(each) }));
    return [...tabs, ...actions];
  }

  const tables = () => window.bapoCharts.drawnFigures().map(({ title, graphs }) => ({
    group: TABLES, label: `Table of ${title}`, act: () => window.bapoCharts.showTable(graphs, title),
  }));

  function standing(isAdministrator) {
    const pages = PAGES.filter(([, , href]) => linkTo(href))
      .map(([letter, label, href]) => ({ group: ALL, label, keys: `g ${letter}`, act: () => visit(href) }));
    const own = [...ACCOUNT, ...(isAdministrator ? ADMINISTRATION : [])]
      .map(([label, href]) => ({ group: OWN, label, act: () => visit(href) }));
    const about = find("help");
    const documents = about && !about.hidden
      ? [
        { group: MORE, label: "About this page", hint: "document", act: inNewTab(about.href) },
        { group: MORE, label: "Documents", act: inNewTab(served(DOCUMENTS)) },
      ]
      : [];
    return [
      ...pages, ...own,
      { group: MORE, label: "Take the tour", act: () => window.bapoTour.start() },
      { group: MORE, label: "Keyboard shortcuts", keys: "?", act: help },
      { group: MORE, label: "Switch between light and dark", act: () => find("scheme-toggle").click() },
      ...documents,
      { group: MORE, label: "API", hint: "reference", act: inNewTab(served(API)) },
      { group: OWN, label: "Log out", act: () => clientside.shell.logout(1) },
    ];
  }

  // Each way once: the page may offer what the navigation has too.
  function allEntries(isAdministrator) {
    const seen = new Set();
    return [...onPage(), ...standing(isAdministrator), ...tables()].filter(({ label, hint }) => {
      const key = `${label}|${hint === "tab"}`;
      return label && !seen.has(key) && seen.add(key);
    });
  }

  // ---------------------------------------------------------------- runs

  let asking = null; // The request that is under way.

  async function findRuns(text) {
    asking?.abort();
    asking = new AbortController();
    const query = new URLSearchParams({ limit: MOST_RUNS, ...(text ? { search: text } : {}) });
    const { items } = await ask(`/api/v1/runs?${query}`, asking.signal);
    return items.map((run) => ({
      group: RUNS, label: run.name, id: run.id, hint: `${run.status} · ${text && run.id.includes(text) ? run.id : run.owner}`,
      act: () => visit(`/runs/${encodeURIComponent(run.id)}`),
    }));
  }

  let role = null; // Fetched once: logging in as another user reloads the page.
  const mayAdminister = async () => {
    role ??= (await ask("/api/v1/me")).role;
    return role === "admin";
  };

  // ---------------------------------------------------------------- the dialog

  const NO_SERVER = "The server does not answer: runs cannot be found now.";

  // What is in the list: its options in order, of which one is active.
  function listOf(field, box, status) {
    let options = [];
    let active = 0;

    const mark = (index, { scrolls = true } = {}) => {
      active = index;
      options.forEach(({ element }, each) => element.setAttribute("aria-selected", String(each === index)));
      const current = options[index]?.element;
      if (!current) {
        field.removeAttribute("aria-activedescendant");
        return;
      }
      field.setAttribute("aria-activedescendant", current.id);
      // The first one's heading is above it.
      if (scrolls) (index ? current : box.firstElementChild).scrollIntoView({ block: "nearest" });
    };

    const act = ({ entry }) => {
      closeDialog(); // The focus is back where it was, from where what is done may move it.
      entry.act();
    };

    function option(entry) {
      const element = make("div", "palette-option", make("span", "palette-label", entry.label),
        entry.keys ? keysOf(entry.keys) : make("span", "palette-hint", entry.hint || ""));
      element.id = `palette-option-${options.length}`;
      element.setAttribute("role", "option");
      const made = { entry, element };
      const index = options.push(made) - 1;
      element.addEventListener("pointermove", () => { if (active !== index) mark(index, { scrolls: false }); });
      element.addEventListener("click", () => act(made));
      return element;
    }

    return {
      fill(groups, saying) {
        const before = options[active]?.entry;
        options = [];
        box.replaceChildren(...groups.map(([name, entries]) => {
          const heading = make("div", "palette-heading", name);
          heading.setAttribute("aria-hidden", "true");
          const group = make("div", "", heading, ...entries.map(option));
          group.setAttribute("role", "group");
          group.setAttribute("aria-label", name);
          return group;
        }));
        status.textContent = saying || (options.length ? plural(options.length, "result") : "Nothing found.");
        // Keep the selected entry when runs arrive later.
        const isBefore = ({ entry }) => ["group", "label", "id"].every((part) => entry[part] === before[part]);
        mark(active ? Math.max(0, options.findIndex(isBefore)) : 0);
      },
      begin: () => { active = 0; },
      step: (by) => { if (options.length) mark((active + by + options.length) % options.length); },
      act: () => { if (options[active]) act(options[active]); },
    };
  }

  function open() {
    const field = make("input", "palette-field");
    const box = make("div", "palette-list");
    const status = make("div", "palette-status");
    const attributes = {
      role: "combobox", type: "text", "aria-label": "Command, page or run", "aria-expanded": "true", "aria-controls": "palette-list",
      "aria-autocomplete": "list", autocomplete: "off", spellcheck: "false", maxlength: String(MOST_LETTERS), placeholder: "Go to, run, or do …",
    };
    for (const [name, value] of Object.entries(attributes)) field.setAttribute(name, value);
    field.autofocus = true;
    box.id = "palette-list";
    box.setAttribute("role", "listbox");
    box.setAttribute("aria-label", "Commands");
    status.setAttribute("role", "status");

    const list = listOf(field, box, status);
    let runs = [];
    let problem = "";
    let pause = null;
    const ofPage = ({ group }) => group === HERE;
    const draw = () => {
      const entries = allEntries(role === "admin"); // Listed each time: the page below changes as it draws its charts.
      const others = entries.filter((each) => !ofPage(each));
      list.fill(ranked(field.value, [...entries.filter(ofPage), ...runs, ...others]), problem);
    };

    async function fetchRuns() {
      const text = field.value.trim();
      const isOutdated = () => field.value.trim() !== text; // More was typed meanwhile.
      try {
        const found = await findRuns(text);
        if (isOutdated()) return;
        runs = found;
        problem = "";
      } catch (error) {
        if (error.name === "AbortError" || isOutdated()) return;
        problem = error instanceof TypeError ? NO_SERVER : error.message;
      }
      if (field.isConnected) draw();
    }

    field.addEventListener("input", () => {
      list.begin();
      runs = []; // They answer another question.
      draw();
      clearTimeout(pause);
      pause = setTimeout(fetchRuns, PAUSE_MS);
    });
    field.addEventListener("keydown", (event) => {
      const steps = { ArrowDown: 1, ArrowUp: -1 };
      if (event.key in steps) list.step(steps[event.key]);
      else if (event.key === "Enter" && !event.isComposing) list.act();
      else return;
      event.preventDefault();
    });

    const shown = dialog("Commands", "palette", [field, box, status], { says: false });
    shown.addEventListener("close", () => {
      clearTimeout(pause);
      asking?.abort();
    });
    draw();
    fetchRuns();
    if (role === null) {
      mayAdminister().then((is) => {
        if (is && field.isConnected) draw();
      }, () => {}); // Without an answer the administrator's entries stay hidden.
    }
    return true;
  }

  document.addEventListener("click", (event) => {
    if (event.target.closest?.("#palette-open")) open();
  });

  window.bapoPalette = { open, rank, ranked, ACCOUNT, ADMINISTRATION, DOCUMENTS, API };
})();
