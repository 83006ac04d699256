// What the scripts of Dash's components find when they are loaded.
(function () {
  "use strict";

  // They come with a polyfill of 100 kB, which also replaces browsers' functions with slow ones, such as
  // parseFloat. All they need of it are generators without branches, for components that are loaded when they are needed.
  window.regeneratorRuntime = {
    mark: (generator) => generator,
    wrap(advance) {
      const state = { prev: 0, next: 0, done: false, stop() { state.done = true; } };
      return {
        next() {
          const value = advance(state);
          return { value, done: state.done };
        },
        throw(error) {
          throw error;
        },
      };
    },
  };

  // The run list's table is a third of all that is loaded. Its page brings it; from others it is fetched on the way there.
  let fetched = null;

  function fetchTable() {
    fetched ??= new Promise((loaded, failed) => {
      const { table, tableRest } = document.querySelector("script[data-table]").dataset;
      const scripts = [tableRest, table].map((src) => Object.assign(document.createElement("script"), { src, async: false, onerror: failed }));
      const putBack = () => {
        const whole = window.dash_ag_grid;
        // Dash draws what it finds under this name: another component there would be another table.
        window.dash_ag_grid = { ...whole, AgGrid };
        loaded(whole);
      };
      scripts.at(-1).addEventListener("load", putBack);
      document.head.append(...scripts);
    });
    return fetched;
  }

  function AgGrid(properties) {
    const { createElement, useEffect, useState } = window.React;
    const [whole, setWhole] = useState(null);
    useEffect(() => { fetchTable().then(setWhole, () => {}); }, []);
    const { id, className, style } = properties;
    return whole ? createElement(whole.AgGrid, properties) : createElement("div", { id, className, style });
  }
  AgGrid.dashRenderType = true;

  addEventListener("bapo:asked", ({ detail }) => {
    if (detail === "/runs" && window.dash_ag_grid.AgGrid === AgGrid) fetchTable().catch(() => {});
  });

  window.dash_ag_grid = { AgGrid, getApiAsync: async (id) => (await fetchTable()).getApiAsync(id) };
})();
