// A board: its panels, drawn here from the server's answers. Only panels whose content has changed are redrawn.
// Redrawing keeps the zoom and waits while the user drags in a chart.
(function () {
  "use strict";

  const { ask, button, clientside, find, icon, make, noUpdate, scheme, setProps } = window.bapo;

  const grid = () => find("board-grid");
  const cards = new Map(); // Panel -> { card, digest, show }, of the grid below.
  let shownGrid = null;
  let drawings = {}; // Of the paper's figures, by name.
  let version = null;

  // ---------------------------------------------------------------- cards

  const tool = (name, label, what) => {
    const element = button(typeof name === "string" && name.length > 1 ? icon(name) : name, "board-tool");
    element.title = label;
    element.setAttribute("aria-label", label);
    element.dataset.storeButton = JSON.stringify({ store: "board-tool-button", what });
    return element;
  };

  // For the keyboard too; who may only look has none of it.
  function tools({ id, title, kind, width }) {
    if (!grid().dataset.changes) return [];
    const about = { panel: id, name: title };
    return [
      tool("←", `Move ${title} earlier`, { ...about, action: "earlier" }),
      tool("→", `Move ${title} later`, { ...about, action: "later" }),
      ...(kind === "paper" ? [] : [tool("expand", `Make ${title} ${width === "half" ? "wider" : "narrower"}`, { ...about, action: "width" })]),
      tool("sliders", `Edit ${title}`, { ...about, action: "edit" }),
      tool("trash", `Remove ${title}`, { ...about, action: "remove" }),
    ];
  }

  function head(panel, level, ...more) {
    const title = make("h2", level, panel.title);
    const texts = make("div", "", title, panel.question ? make("div", "chart-question", panel.question) : null);
    const element = make("div", "chart-head", texts, make("div", "chart-tools", ...tools(panel), ...more));
    if (grid().dataset.changes) element.draggable = true;
    return element;
  }

  function chart(card, panel) {
    const menu = button(icon("menu"), "chart-menu-button");
    menu.setAttribute("aria-label", `Menu of ${panel.title}`);
    menu.setAttribute("aria-haspopup", "menu");
    const graph = card.querySelector(".chart-graph") || make("div", "chart-graph");
    card.className = "chart-card board-card";
    card.setAttribute("role", "figure");
    card.setAttribute("aria-label", panel.title);
    card.dataset.chart = panel.id;
    const body = panel.figure ? graph : make("div", "board-empty", panel.empty || "There is nothing to show.");
    card.replaceChildren(head(panel, "chart-title", menu), body, make("div", "compare-note", panel.note || ""));
    if (!panel.figure) return;
    const draw = () => {
      const figure = window.bapoCharts.viewed(panel.id, panel.figure);
      graph.style.height = `${figure.layout.height || 300}px`;
      window.Plotly.react(graph, figure.data, figure.layout, { displayModeBar: false, responsive: true, displaylogo: false });
    };
    window.bapoPlotly().then(draw);
  }

  // Made on the server of what people wrote, without their own elements, scripts or pictures.
  const elements = (html) => [...new DOMParser().parseFromString(html, "text/html").body.childNodes];

  function text(card, panel) {
    card.className = "board-card board-text-card";
    const changes = tools(panel);
    card.replaceChildren(...(changes.length ? [head(panel, "unseen")] : []), ...elements(panel.html));
  }

  function paper(card, panel) {
    card.className = "board-card board-paper";
    card.replaceChildren(...(tools(panel).length ? [head(panel, "unseen")] : []), ...elements(panel.html));
    drawings = { ...drawings, ...panel.drawings };
    window.bapoPlotly().then(() => window.bapoPaper.show(drawings));
  }

  const KINDS = { chart, text, paper };

  function fill(card, panel) {
    card.dataset.panel = panel.id;
    KINDS[panel.kind](card, panel);
    card.classList.toggle("full-width", panel.width === "full");
  }

  // ---------------------------------------------------------------- what the server tells

  function apply(news) {
    const place = grid();
    if (!place) return;
    if (version !== null && version !== news.version) document.querySelector("#board-head h1").textContent = news.name;
    version = news.version;
    const active = document.activeElement;
    const label = active?.getAttribute?.("aria-label");
    const wanted = new Set(news.panels.map(({ id }) => id));
    for (const [id, { card }] of cards) {
      if (wanted.has(id)) continue;
      card.remove();
      cards.delete(id);
    }
    news.panels.forEach((panel, index) => {
      const known = cards.get(panel.id) || { card: make("div", "board-card") };
      // Insert it before drawing: a chart takes the width of its place.
      if (place.children[index] !== known.card) place.insertBefore(known.card, place.children[index] || null);
      if (panel.kind) fill(known.card, panel);
      cards.set(panel.id, { card: known.card, digest: panel.digest });
    });
    // Keep the focus on the same button while panels are moved by keyboard.
    if (label && document.activeElement !== active) {
      [...place.querySelectorAll("button")].find((each) => each.getAttribute("aria-label") === label)?.focus();
    }
    const state = find("board-state");
    state.textContent = news.panels.length ? "" : place.dataset.changes
      ? "The board is empty: add a chart, a text or the paper's figures." : "The board is empty.";
    dispatchEvent(new CustomEvent("bapo:board", { detail: { version } }));
  }

  function begin() {
    shownGrid = grid();
    cards.clear();
    drawings = {};
    version = null;
  }

  let isAsking = false;
  let isStale = false;

  // One question at a time, which names what is known by then: panels that are as they were stay under a hand that drags them.
  async function refresh() {
    isStale = true;
    if (isAsking) return;
    isAsking = true;
    while (isStale) {
      isStale = false;
      await askOnce();
    }
    isAsking = false;
  }

  async function askOnce() {
    const place = grid();
    if (!place) return;
    if (place !== shownGrid) begin();
    const known = [...cards].map(([id, { digest }]) => `${id}:${digest}`).join(",");
    const query = new URLSearchParams({ scheme: scheme() || "light", ...(known ? { known } : {}) });
    try {
      const news = await ask(`/live/boards/${place.dataset.board}?${query}`);
      if (place === grid()) apply(news);
    } catch (error) {
      // What is drawn stays: a deleted board is still there to be read.
      if (find("board-state")) find("board-state").textContent = `Not up to date: ${error.message}`;
    }
  }

  clientside.boards = {
    poked() {
      refresh();
      return noUpdate();
    },
  };
  window.bapoBoards = { refresh, isShown: () => Boolean(grid()) };

  // ---------------------------------------------------------------- dragging a panel by its head

  let dragged = null;

  document.addEventListener("dragstart", (event) => {
    const card = event.target.closest?.(".board-card");
    if (!card || !event.target.classList?.contains("chart-head")) return;
    dragged = card;
    event.dataTransfer.effectAllowed = "move";
    event.dataTransfer.setData("text/plain", card.dataset.panel);
  });

  document.addEventListener("dragover", (event) => {
    const over = dragged && event.target.closest?.(".board-card");
    if (!over || over === dragged) return;
    event.preventDefault();
    for (const each of document.querySelectorAll(".board-card.over")) if (each !== over) each.classList.remove("over");
    over.classList.add("over");
  });

  document.addEventListener("drop", (event) => {
    const over = dragged && event.target.closest?.(".board-card");
    if (!over || over === dragged) return;
    event.preventDefault();
    setProps("board-tool-button", { data: { action: "swap", panel: dragged.dataset.panel, target: over.dataset.panel, at: Date.now() } });
  });

  document.addEventListener("dragend", () => {
    dragged = null;
    for (const each of document.querySelectorAll(".board-card.over")) each.classList.remove("over");
  });

  // ---------------------------------------------------------------- in the page

  // Dash puts the page in place whenever it has it.
  new MutationObserver(() => { if (grid() && grid() !== shownGrid) refresh(); }).observe(document.documentElement, { childList: true, subtree: true });
  new MutationObserver(() => { if (grid()) refresh(); })
    .observe(document.documentElement, { attributes: true, attributeFilter: ["data-mantine-color-scheme"] });
  addEventListener("bapo:view", () => { if (grid()) window.bapoCharts.showFull(); });
})();
