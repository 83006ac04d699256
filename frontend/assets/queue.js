// The order of the queue by drag, keyboard and menu, and what is done to several waiting runs at once. The server
// decides what may be done; its refusals are shown.
(function () {
  "use strict";

  const { button: makeButton, count, find, make, setProps } = window.bapo;

  const BOARD = "queue-board";
  const PRIORITIES = [0, 100];
  const DIRECTIONS = { ArrowUp: -1, ArrowDown: 1 };
  const chosen = new Set(); // Identifiers of runs.
  let dragged = null;
  let drop = null; // { run, before }
  let menu = null;
  let moved = null; // Identifier of the run moved by keyboard: its handle keeps the focus when the board is redrawn.

  const board = () => find(BOARD);
  const rows = () => [...document.querySelectorAll(`#${BOARD} tr[data-run]`)];
  const rowOf = (node) => node.closest?.(`#${BOARD} tr[data-run]`);
  const send = (...request) => window.bapoRuns.send(...request);
  const path = (id) => `/runs/${encodeURIComponent(id)}`;
  // An administrator may move any run; then every row says so.
  const isTarget = (row, id) => row && row.dataset.run !== id && row.dataset.may && !row.dataset.held;

  const refresh = () => setProps(`${BOARD}-refresh`, { n_intervals: Date.now() });
  // Redrawing the board would end a drag.
  const pause = (isPaused) => setProps(`${BOARD}-refresh`, { disabled: isPaused });

  async function move(id, place) {
    await send("POST", `${path(id)}/move`, place);
    refresh();
  }

  function step(id, direction) {
    const all = rows().filter((row) => row.dataset.run === id || isTarget(row, id));
    const target = all[all.findIndex((row) => row.dataset.run === id) + direction];
    if (!target) return;
    moved = id;
    move(id, { [direction < 0 ? "before" : "after"]: target.dataset.run });
  }

  // ------------------------------------------------------------ drag

  document.addEventListener("pointerdown", (event) => {
    const row = event.target.closest?.(".queue-handle") && rowOf(event.target);
    if (row) row.draggable = true;
  });
  document.addEventListener("pointerup", () => { for (const row of rows()) row.removeAttribute("draggable"); });

  document.addEventListener("dragstart", (event) => {
    const row = rowOf(event.target);
    if (!row) return;
    dragged = row.dataset.run;
    event.dataTransfer.effectAllowed = "move";
    event.dataTransfer.setData("text/plain", row.dataset.name);
    row.classList.add("queue-dragged");
    pause(true);
  });

  function mark(row, isBefore) {
    for (const each of rows()) each.classList.remove("queue-before", "queue-after");
    row?.classList.add(isBefore ? "queue-before" : "queue-after");
  }

  document.addEventListener("dragover", (event) => {
    if (dragged === null) return;
    const row = rowOf(event.target);
    drop = null;
    if (isTarget(row, dragged)) {
      event.preventDefault();
      const { top, height } = row.getBoundingClientRect();
      drop = { run: row.dataset.run, before: event.clientY < top + height / 2 };
    }
    mark(drop && row, drop?.before);
  });
  document.addEventListener("drop", (event) => {
    if (dragged === null || drop === null) return;
    event.preventDefault();
    move(dragged, { [drop.before ? "before" : "after"]: drop.run });
  });
  document.addEventListener("dragend", () => {
    if (dragged === null) return;
    for (const row of rows()) { row.classList.remove("queue-dragged"); row.removeAttribute("draggable"); }
    mark(null);
    dragged = drop = null;
    pause(false);
  });

  // ------------------------------------------------------------ menu of one run

  function item(label, choose) {
    const button = makeButton(label, "", () => { closeMenu(true); choose(); });
    button.setAttribute("role", "menuitem");
    return button;
  }

  function priorityItem(row) {
    const input = make("input");
    Object.assign(input, { type: "number", min: PRIORITIES[0], max: PRIORITIES[1], step: 1, value: row.dataset.priority });
    const error = make("div", "queue-priority-error");
    error.setAttribute("role", "alert");
    const form = make("form", "queue-priority", make("label", "", "Priority", input), make("button", "", "Set"), error);
    form.noValidate = true;
    form.addEventListener("submit", async (event) => {
      event.preventDefault();
      const priority = Number(input.value);
      if (!/^\d+$/.test(input.value) || priority > PRIORITIES[1]) {
        error.textContent = `Enter a whole number from ${PRIORITIES[0]} to ${PRIORITIES[1]}`;
        input.setAttribute("aria-invalid", "true");
        return;
      }
      if ((await send("PATCH", path(row.dataset.run), { priority })) !== null) closeMenu(true);
      refresh();
    });
    return form;
  }

  async function act(action, ids) {
    const answer = await send("POST", "/runs/bulk", { run_ids: ids, action });
    const refused = answer?.results.filter((result) => !result.done) ?? [];
    if (refused.length) window.bapoRuns.tell(`${refused.length} refused`, refused[0].reason);
    refresh();
  }

  function openMenu(button) {
    closeMenu(false);
    const row = rowOf(button);
    const { run, held } = row.dataset;
    menu = make("div", "queue-menu");
    menu.setAttribute("role", "menu");
    menu.setAttribute("aria-label", `Change ${row.dataset.name}`);
    menu.dataset.run = run;
    if (held) {
      menu.append(item("Release", () => act("release", [run])));
    } else {
      menu.append(
        item("To the top", () => move(run, { to: "top" })),
        item("Up", () => step(run, -1)),
        item("Down", () => step(run, 1)),
        item("To the bottom", () => move(run, { to: "bottom" })),
        item("Hold", () => act("hold", [run])),
      );
    }
    menu.append(priorityItem(row));
    document.body.append(menu);
    const anchor = button.getBoundingClientRect();
    const left = Math.max(8, Math.min(anchor.right - menu.offsetWidth, window.innerWidth - menu.offsetWidth - 8));
    const isAbove = anchor.bottom + menu.offsetHeight + 8 > window.innerHeight;
    menu.style.left = `${left + window.scrollX}px`;
    menu.style.top = `${(isAbove ? anchor.top - menu.offsetHeight - 4 : anchor.bottom + 4) + window.scrollY}px`;
    menu.querySelector("button").focus();
    pause(true);
  }

  function closeMenu(returnsFocus) {
    if (!menu) return;
    const { run } = menu.dataset;
    menu.remove();
    menu = null;
    pause(false);
    if (returnsFocus) rows().find((row) => row.dataset.run === run)?.querySelector(".queue-more")?.focus();
  }

  document.addEventListener("click", (event) => {
    const more = event.target.closest?.(".queue-more");
    if (more) {
      const isOpen = menu?.dataset.run === rowOf(more).dataset.run;
      if (isOpen) closeMenu(true);
      else openMenu(more);
    } else if (menu && !menu.contains(event.target)) closeMenu(false);

    const check = event.target.closest?.(".queue-check");
    if (check) {
      const id = rowOf(check).dataset.run;
      if (!chosen.delete(id)) chosen.add(id);
      draw();
    }
    const bulk = event.target.closest?.("[data-queue-bulk]");
    if (bulk && bulk.dataset.queueBulk === "none") { chosen.clear(); draw(); }
    else if (bulk) act(bulk.dataset.queueBulk, [...chosen]);
  });

  document.addEventListener("keydown", (event) => {
    const handle = event.target.closest?.(".queue-handle");
    const direction = DIRECTIONS[event.key];
    if (handle && direction) {
      event.preventDefault();
      step(rowOf(handle).dataset.run, direction);
    } else if (menu && event.key === "Escape") {
      closeMenu(true);
    } else if (menu && direction && event.target.type !== "number") {
      event.preventDefault();
      const items = [...menu.querySelectorAll("button")];
      items[(items.indexOf(document.activeElement) + direction + items.length) % items.length].focus();
    }
  });

  // ------------------------------------------------------------ choices survive redrawing the board

  function draw() {
    const there = new Set(rows().map((row) => row.dataset.run));
    for (const id of chosen) if (!there.has(id)) chosen.delete(id);
    for (const row of rows()) {
      const isChosen = String(chosen.has(row.dataset.run));
      const check = row.querySelector(".queue-check");
      if (check && check.getAttribute("aria-checked") !== isChosen) check.setAttribute("aria-checked", isChosen);
    }
    const bar = find("queue-bulk");
    if (bar && bar.hidden === chosen.size > 0) bar.hidden = chosen.size === 0;
    const number = find("queue-chosen");
    const text = `${count(chosen.size)} selected`;
    if (number && number.textContent !== text) number.textContent = text;
    // A board is drawn in parts, of which a later one may take the focus away again.
    const handle = moved && rows().find((row) => row.dataset.run === moved)?.querySelector(".queue-handle");
    if (handle && document.activeElement !== handle) handle.focus();
  }

  // Until the user clicks elsewhere.
  document.addEventListener("pointerdown", () => { moved = null; }, true);
  document.addEventListener("keydown", (event) => { if (!(event.key in DIRECTIONS)) moved = null; }, true);

  new MutationObserver(() => { if (board() || chosen.size) draw(); }).observe(document.documentElement, {
    childList: true, subtree: true, attributes: true, attributeFilter: ["data-run"],
  });
})();
