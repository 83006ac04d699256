// The form of a new run asks the server when typing pauses.
(function () {
  "use strict";

  window.dash_clientside = window.dash_clientside || {};
  const clientside = window.dash_clientside;
  const noUpdate = () => clientside.no_update;

  const PAUSE_MS = 300;
  let typing = null;
  let typed = 0;
  // What the form shows by itself of each input, and for which method and type of tasks.
  let filled = null;

  function sameValue(left, right) {
    return JSON.stringify(left) === JSON.stringify(right);
  }

  function startShown(start) {
    const types = Object.values(filled && filled.key === start.key ? filled.types : start.types);
    return (path) => {
      const type = types.find((each) => start.looks[each][path]);
      return type ? start.looks[type][path].shown : start.shown[path];
    };
  }

  // Another method or type of tasks: its fields show its own values, except those that somebody has typed into.
  function follow(values, ids, start) {
    if (!filled || filled.key !== start.key) {
      filled = { key: start.key, types: { ...start.types }, shown: { ...start.shown } };
    }
    for (const chooser of Object.keys(filled.types)) {
      const type = values[ids.findIndex((id) => id.path === chooser)];
      if (type === filled.types[chooser] || !start.looks[type]) continue;
      filled.types[chooser] = type;
      show(start.looks[type], chooser, values, ids);
    }
  }

  function show(looks, chooser, values, ids) {
    for (const [path, look] of Object.entries(looks)) {
      clientside.set_props({ type: "new-wrap", path }, { description: look.text });
      if (path === chooser) continue;
      clientside.set_props({ type: "new-was", path }, { children: look.was });
      const places = ids.flatMap((id, place) => (id.path === path ? [place] : []));
      const isTouched = places.some((place) => !sameValue(values[place], filled.shown[path][ids[place].part]));
      filled.shown[path] = look.shown;
      if (isTouched) continue;
      for (const place of places) {
        const value = look.shown[ids[place].part];
        if (!sameValue(value, values[place])) clientside.set_props(ids[place], { value });
      }
    }
  }

  clientside.form = {
    pause(values, ids, start) {
      follow(values, ids, start);
      clearTimeout(typing);
      typing = setTimeout(() => {
        if (document.getElementById("new-submit")) clientside.set_props("new-typed", { data: ++typed });
      }, PAUSE_MS);
      return noUpdate();
    },

    // One button was pressed: its field shows again what the form started from.
    reset(clicks, ids, start) {
      const button = clientside.callback_context.triggered_id;
      if (!button || !clicks.some(Boolean)) return ids.map(noUpdate);
      const shown = startShown(start);
      return ids.map((id) => (id.path === button.path ? shown(id.path)[id.part] : noUpdate()));
    },
  };
})();
