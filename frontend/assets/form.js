// The form of a new run asks the server when typing pauses.
(function () {
  "use strict";

  window.dash_clientside = window.dash_clientside || {};
  const clientside = window.dash_clientside;
  const noUpdate = () => clientside.no_update;

  const PAUSE_MS = 300;
  let typing = null;
  let typed = 0;

  clientside.form = {
    pause() {
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
      return ids.map((id) => (id.path === button.path ? start.shown[id.path][id.part] : noUpdate()));
    },
  };
})();
