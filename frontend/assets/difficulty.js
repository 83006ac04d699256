// The sections on migration and flows of the tab on difficulty. Answers come from /live/runs/<run>/…, one request at a
// time each, and are cached, so that going back to a step, or playing again, sends no request.
(function () {
  "use strict";

  const FRAME_MS = 250; // Four steps a second, or as fast as the server answers.
  const MOST_FRAMES = 120; // A long run is played in larger steps.
  const MOST_ANSWERS = 400;
  const MOST_MARKS = 12; // With more, marks would touch one another.
  const MOUNTING_MS = 20000;
  const DEFAULT_KIND = "tracked";
  const RATE_PARTS = ["label", "value", "chance", "note"];

  const { ask, clientside, count, find, make, noUpdate, scheme, setProps } = window.bapo;

  let state = null; // Of the section on the page.
  let timer = null;

  function begin(section, run) {
    stop();
    const query = window.bapoView.read();
    state = {
      section, run,
      kind: query.get("kind") === "last_seen" ? "last_seen" : DEFAULT_KIND,
      // null: the server's choice, which for `to` is the newest step.
      from: number(query.get("from")),
      to: number(query.get("to")),
      difference: query.get("difference") === "1",
      flow: (query.get("flow") || "").split(",").map(number).filter((step) => step !== null),
      answer: null,
      sliders: "",
      placed: {}, // Positions of the thumbs.
      held: false, // Whether a person has touched a thumb since it last played.
      drawn: new Map(), // Figure on each card.
      migration: channel("migration", migrationQuery, drawMigration),
      flows: channel("flows", flowsQuery, drawFlows),
    };
    setProps("migration-kind", { value: state.kind });
    setProps("migration-difference", { checked: state.difference });
    state.migration.want();
    state.flows.want();
  }

  const number = (text) => (/^\d{1,9}$/.test(text || "") ? Number(text) : null);
  const isHere = (owner) => state === owner && document.contains(owner.section);

  // ---------------------------------------------------------------- asking

  // One kind of question: at most one request under way, after which the newest question is asked if it is another.
  function channel(part, query, draw) {
    const answers = new Map();
    const self = { busy: false, forget: () => answers.clear() };
    self.want = async () => {
      const owner = state;
      const question = query(owner).toString();
      const known = answers.get(question);
      if (known) {
        draw(known);
        return;
      }
      if (self.busy) return;
      self.busy = true;
      try {
        const answer = await ask(`/live/runs/${owner.run}/${part}?${question}`);
        if (!isHere(owner)) return;
        if (answers.size >= MOST_ANSWERS) answers.delete(answers.keys().next().value);
        answers.set(question, answer);
        if (query(owner).toString() === question) draw(answer);
      } catch (error) {
        if (!isHere(owner)) return;
        stop();
        complain(part, error.message);
        return;
      } finally {
        self.busy = false;
      }
      if (query(owner).toString() !== question) self.want();
    };
    return self;
  }

  function migrationQuery({ kind, from, to, difference }) {
    const query = new URLSearchParams({ kind, scheme: scheme() });
    if (from !== null) query.set("from", from);
    if (to !== null) query.set("to", to);
    if (difference) query.set("difference", "1");
    return query;
  }

  function flowsQuery({ kind, flow }) {
    const query = new URLSearchParams({ kind, scheme: scheme() });
    if (flow.length) query.set("steps", flow.join(","));
    return query;
  }

  function remember() {
    const { kind, from, to, difference, flow } = state;
    window.bapoView.write({
      kind: kind === DEFAULT_KIND ? null : kind,
      from, to,
      difference: difference ? "1" : null,
      flow: flow.length ? flow.join(",") : null,
    });
  }

  // ---------------------------------------------------------------- drawing

  function drawMigration(answer) {
    state.answer = answer;
    state.section.classList.toggle("last-seen", state.kind === "last_seen");
    drawSliders(answer);
    drawRates(answer.rates);
    drawCards(answer);
  }

  function drawFlows(answer) {
    drawCards(answer);
    if (state.flow.length) return;
    // Show the server's choice in the fields, where it can be changed.
    answer.steps.forEach((value, place) => setProps({ place, type: "flow-step" }, { value }));
    state.flowDefault = answer.steps;
  }

  function drawCards({ figures, notes, problem }) {
    for (const [name, figure] of Object.entries(figures)) {
      const card = document.querySelector(`[data-chart="${name}"]`);
      if (!card) continue;
      card.classList.remove("loading", "empty");
      if (figure) {
        drawFigure(card, name, figure);
      } else {
        card.classList.add("empty");
        const place = card.querySelector(".chart-empty");
        place.dataset.first = place.dataset.first || place.textContent;
        place.textContent = problem || place.dataset.first;
      }
      card.querySelector(".chart-note").textContent = notes[name] || "";
    }
  }

  // Past Dash, whose renderer takes longer than Plotly.
  function drawFigure(card, name, answered) {
    if (state.drawn.get(name) === answered) return;
    // The answer is kept as it is: what the address says of the chart may be another thing the next time.
    const figure = window.bapoCharts.viewed(name, { ...answered, layout: { ...answered.layout } });
    card.querySelector(".dash-graph").bapoShow(figure);
    state.drawn.set(name, answered);
  }

  function complain(part, text) {
    const names = part === "flows" ? ["flows"] : ["migration", "migration-null", "accuracy-counts"];
    drawCards({ figures: Object.fromEntries(names.map((name) => [name, null])), notes: {}, problem: text });
    for (const name of names) state.drawn.delete(name);
  }

  function drawRates(rates) {
    const box = find("migration-rates");
    for (const rate of rates) {
      let tile = box.querySelector(`[data-rate="${rate.name}"]`);
      if (!tile) {
        tile = make("div", "rate-tile", ...RATE_PARTS.map((part) => make("span", `rate-${part}`)));
        tile.dataset.rate = rate.name;
        box.append(tile);
      }
      tile.title = rate.explanation;
      for (const part of RATE_PARTS) tile.querySelector(`.rate-${part}`).textContent = rate[part];
    }
  }

  // ---------------------------------------------------------------- steps

  // What the values of a slider stand for. Where only some steps were sampled, it goes over those: a value is the place
  // among them.
  function scaleOf(kind, { steps, last_step: lastStep }) {
    if (kind !== "tracked") return { last: lastStep, stepAt: (value) => value, valueOf: (step) => step };
    return {
      last: Math.max(steps.length - 1, 0),
      stepAt: (value) => steps[value] ?? 0,
      valueOf: (step) => Math.max(steps.indexOf(step), 0),
    };
  }

  // The labels below a slider: the ends, or as many of the sampled steps as do not touch one another.
  function marksOf(kind, answer) {
    const { last, stepAt } = scaleOf(kind, answer);
    const named = (value) => ({ value, label: count(stepAt(value)) });
    const { steps } = answer;
    if (kind !== "tracked" || steps.length > 5 * MOST_MARKS) return last ? [0, last].map(named) : [];
    const labelled = Math.ceil(steps.length / MOST_MARKS);
    return steps.map((_, value) => {
      const isNamed = value === last || (value % labelled === 0 && last - value >= labelled / 2);
      return isNamed ? named(value) : { value };
    });
  }

  const scale = () => scaleOf(state.kind, state.answer);

  function drawSliders(answer) {
    const { last, stepAt, valueOf } = scale();
    const places = { from: valueOf(answer.from_step), to: valueOf(answer.to_step) };
    const shape = JSON.stringify([state.kind, last, answer.steps]);
    for (const [name, value] of Object.entries(places)) {
      const change = {};
      if (shape !== state.sliders) {
        Object.assign(change, { value, min: 0, max: Math.max(last, 1), marks: marksOf(state.kind, answer), disabled: last === 0 });
      } else if (state.placed[name] !== value) {
        // Leave a thumb that is already there: it may have been moved further meanwhile.
        change.value = value;
      }
      if ("value" in change) setProps(`migration-${name}`, change);
      state.placed[name] = value;
      find(`migration-${name}-step`).textContent = count(stepAt(value));
    }
    if (shape !== state.sliders) setProps("migration-play", { disabled: last === 0 });
    setProps("migration-difference", { disabled: !answer.has_null });
    state.sliders = shape;
    state.shown = places;
  }

  // A thumb was moved to a value: keep the other one on its side of it.
  function move(name, value) {
    const { answer } = state;
    if (!answer || value === state.shown[name]) return;
    const { last, stepAt } = scale();
    const steps = { from: answer.from_step, to: answer.to_step };
    const places = { ...state.shown, [name]: value };
    if (places.from > places.to) places[name === "from" ? "to" : "from"] = value;
    for (const each of ["from", "to"]) {
      if (places[each] !== state.shown[each]) steps[each] = stepAt(places[each]);
    }
    if (places.from !== state.shown.from) state.from = steps.from;
    if (places.to !== state.shown.to) state.to = places.to === last ? null : steps.to;
    state.shown = places;
    for (const each of ["from", "to"]) find(`migration-${each}-step`).textContent = count(steps[each]);
    remember();
    state.migration.want();
  }

  // Runs before Dash's callback, which then reports the person's value of a thumb, not the one set here.
  for (const kind of ["pointerdown", "keydown"]) {
    addEventListener(kind, (event) => {
      if (!state || !event.target.closest("#migration-from, #migration-to")) return;
      stop();
      state.held = true;
    }, { capture: true });
  }

  // Dash reports thumbs that a person moved and thumbs that were set here: in a busy browser so late that
  // playing has gone further, or has ended, since.
  function moved(name, value) {
    state.placed[name] = value;
    if (state.held) move(name, value);
  }

  // ---------------------------------------------------------------- playing

  function play() {
    if (timer !== null) {
      stop();
      return;
    }
    if (!state.answer || !scale().last) return;
    state.section.classList.add("playing");
    state.held = false;
    if (state.shown.to >= scale().last) move("to", state.shown.from);
    timer = setInterval(frame, FRAME_MS);
  }

  function frame() {
    if (!state || !document.contains(state.section)) {
      stop();
      return;
    }
    if (state.migration.busy || document.hidden) return;
    const { last } = scale();
    const stride = Math.max(1, Math.round((last - state.shown.from) / MOST_FRAMES));
    move("to", Math.min(state.shown.to + stride, last));
    if (state.shown.to >= last) stop();
  }

  function stop() {
    clearInterval(timer);
    timer = null;
    if (state) state.section.classList.remove("playing");
  }

  // ---------------------------------------------------------------- what Dash reports

  // Dash reports a new panel before it is on the page, which may still show another run's panel.
  function mounted(run, until) {
    const section = find("migration-section");
    if (section && (!state || state.section !== section)) begin(section, run);
    if (Date.now() < until) requestAnimationFrame(() => mounted(run, until));
  }

  // Dash reports several changes together while the page is busy: a click next to a thumb that playing has moved.
  const triggers = () => clientside.callback_context.triggered.map(({ prop_id: property }) => {
    const id = property.slice(0, property.lastIndexOf("."));
    return id.startsWith("{") ? JSON.parse(id) : id;
  });

  function changed(kind, from, to, difference, _clicks, flow, _reload, _scheme, run) {
    const found = triggers();
    if (!found.length || !state || !document.contains(state.section)) mounted(run, Date.now() + MOUNTING_MS);
    else for (const trigger of found) follow(trigger, { kind, from, to, difference, flow });
    return noUpdate();
  }

  function follow(trigger, { kind, from, to, difference, flow }) {
    if (trigger === "migration-kind" && kind !== state.kind) {
      stop();
      // Steps of one kind say little to the other: each begins with what the server chooses.
      Object.assign(state, { kind, from: null, to: null, flow: [], difference: false, answer: null });
      setProps("migration-difference", { checked: false });
      remember();
      state.migration.want();
      state.flows.want();
    } else if (trigger === "migration-from") {
      moved("from", from);
    } else if (trigger === "migration-to") {
      moved("to", to);
    } else if (trigger === "migration-difference" && difference !== state.difference) {
      state.difference = difference;
      remember();
      state.migration.want();
    } else if (trigger === "migration-play") {
      play();
    } else if (trigger === "run-reload" || trigger === "scheme") {
      // A question names its scheme: answers in the other one stay right.
      if (trigger === "run-reload") {
        state.migration.forget();
        state.flows.forget();
      }
      state.migration.want();
      state.flows.want();
    } else if (trigger.type === "flow-step") {
      chooseFlow(flow);
    }
  }

  // Back, forward, or a link to another view of the same run.
  addEventListener("bapo:view", ({ detail: query }) => {
    if (state && document.contains(state.section) && query.get("tab") === "difficulty") begin(state.section, state.run);
  });

  function chooseFlow(values) {
    const steps = [...new Set(values.filter(Number.isInteger))].toSorted((a, b) => a - b);
    const now = state.flow.length ? state.flow : state.flowDefault || [];
    if (steps.length < 2 || steps.join() === now.join()) return;
    state.flow = steps;
    remember();
    state.flows.want();
  }

  clientside.difficulty = { changed };
  window.bapoDifficulty = { scaleOf, marksOf };
})();
