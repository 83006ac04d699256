// The form of a new run asks the server when typing pauses.
(function () {
  "use strict";

  const { clientside, find, noUpdate, same, setProps } = window.bapo;

  const PAUSE_MS = 200;
  let typing = null;
  let typed = 0;
  let planning = null;
  let plans = 0; // How often the plan of several runs was asked for.
  // What the form shows by itself of each input, and for which method and type of tasks.
  let filled = null;
  // State of the fields: errors and warnings by path, and the paths that differ or are out of sight.
  let marked = null;

  function startShown(looks) {
    const types = Object.values(filled && filled.key === looks.key ? filled.types : looks.types);
    return (path) => {
      const type = types.find((each) => looks.of[each][path]);
      return type ? looks.of[type][path].shown : looks.shown[path];
    };
  }

  // Another method or type of tasks: its fields show its own values, except those that the user has typed into.
  function follow(values, ids, looks) {
    if (!filled || filled.key !== looks.key) {
      const words = Object.assign({}, ...Object.values(looks.types).map((type) => looks.of[type]));
      filled = { key: looks.key, types: { ...looks.types }, shown: { ...looks.shown }, words };
    }
    for (const chooser of Object.keys(filled.types)) {
      const type = values[ids.findIndex((id) => id.path === chooser)];
      if (type === filled.types[chooser] || !looks.of[type]) continue;
      filled.types[chooser] = type;
      show(looks.of[type], chooser, values, ids);
    }
  }

  function show(looks, chooser, values, ids) {
    for (const [path, look] of Object.entries(looks)) {
      const { text, was } = filled.words[path] || {};
      filled.words[path] = look;
      const props = { ...(look.text !== text && { description: look.text }), ...(path !== chooser && look.was !== was && { was: look.was }) };
      if (Object.keys(props).length) setProps({ type: "new-wrap", path }, props);
      if (path === chooser) continue;
      const places = ids.flatMap((id, place) => (id.path === path ? [place] : []));
      const isTouched = places.some((place) => !same(values[place], filled.shown[path][ids[place].part]));
      filled.shown[path] = look.shown;
      if (isTouched) continue;
      for (const place of places) {
        const value = look.shown[ids[place].part];
        if (!same(value, values[place])) setProps(ids[place], { value });
      }
    }
  }

  // The number of fields in each section that the method and the type of tasks have, without those shown above.
  function count(sections, hidden) {
    for (const [section, paths] of Object.entries(sections)) {
      const number = paths.filter((path) => !hidden.includes(path)).length;
      setProps({ type: "new-more", section }, { children: ` · ${number} more` });
    }
  }

  clientside.form = {
    // The server has checked the form. Where it could not, errors and warnings stay.
    mark(checked, looks) {
      if (!marked || marked.key !== looks.key) {
        marked = { key: looks.key, errors: {}, warnings: {}, changed: [], hidden: looks.hidden };
      }
      const now = { ...marked, ...checked };
      for (const path of new Set([marked, now].flatMap((marks) => [
        ...Object.keys(marks.errors), ...Object.keys(marks.warnings), ...marks.changed, ...marks.hidden,
      ]))) {
        const [before, after] = [marked, now].map((marks) => ({
          error: marks.errors[path] || null, warning: marks.warnings[path] || null,
          isChanged: marks.changed.includes(path), isHidden: marks.hidden.includes(path),
        }));
        const props = Object.fromEntries(Object.entries(after).filter(([name, value]) => value !== before[name]));
        if (Object.keys(props).length) setProps({ type: "new-wrap", path }, props);
      }
      if (!same(now.hidden, marked.hidden)) count(looks.sections, now.hidden);
      marked = now;
      return noUpdate();
    },

    pause(values, ids, looks) {
      follow(values, ids, looks);
      clearTimeout(typing);
      typing = setTimeout(() => {
        if (find("new-submit")) setProps("new-typed", { data: ++typed });
      }, PAUSE_MS);
      return noUpdate();
    },

    // Request a plan only while it is shown.
    several(isOn) {
      clearTimeout(planning);
      if (!isOn) return { display: "none" };
      const isTyped = clientside.callback_context.triggered.some((each) => each.prop_id.startsWith("{"));
      planning = setTimeout(() => {
        if (find("grid-builder")) setProps("grid-asked", { data: ++plans });
      }, isTyped ? PAUSE_MS : 0);
      return {};
    },

    label(isOn, several) {
      return isOn ? several : "Start the run";
    },

    // Another recipe, or another checkpoint, at which another config is in force, is another form.
    recipe(name, start) {
      return name === start.recipe ? noUpdate() : `?recipe=${encodeURIComponent(name)}`;
    },

    fork(step, start) {
      return step === String(start.fork.step) ? noUpdate() : `?fork=${start.fork.run_id}&step=${step}`;
    },

    made(address) {
      return address || noUpdate();
    },

    // One button was pressed: its field shows again what the form started from.
    reset(pressed, ids, looks) {
      const shown = startShown(looks);
      return ids.map((id) => (id.path === pressed?.path ? shown(id.path)[id.part] : noUpdate()));
    },
  };
})();
