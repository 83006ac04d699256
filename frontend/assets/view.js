// The address holds the view, so that a link restores it. On a run page `tab`, `x` and `smooth` hold for the whole
// page; every other key belongs to the open tab and goes with it (assets/run.js).
//
//   bapoView.read()                      URLSearchParams of the address
//   bapoView.write({step: 40, q: null})  sets and removes keys, and keeps all others; the history entry is replaced
//   bapoView.write({…}, {push: true})    makes a history entry, for what "back" shall undo
//   bapoView.write({…}, {keep: ["x"]})   removes all keys but these before it sets others
//   addEventListener("bapo:view", (event) => event.detail)   the address changed otherwise than by `write` (back and
//                                        forward, a link to the same page): `detail` is what `read` answers now
(function () {
  "use strict";

  const QUIET_MS = 200; // A slider writes many times a second; Dash need not hear of each.
  let written = location.pathname + location.search;
  let telling = null;

  const read = () => new URLSearchParams(location.search);

  // A page that was left stays until the next one is drawn. What it still has to tell, such as an answer that comes
  // late, is no part of the next one's address.
  function isLeft() {
    const drawn = window.dash_component_api.getLayout("route")?.props.data;
    return Boolean(drawn) && drawn.split("?")[0] !== window.bapo.here();
  }

  function write(changes, { push = false, keep = null } = {}) {
    if (isLeft()) return;
    const query = new URLSearchParams([...read()].filter(([key]) => !keep || keep.includes(key)));
    for (const [key, value] of Object.entries(changes)) {
      if (value === null || value === undefined || value === "") query.delete(key);
      else query.set(key, value);
    }
    // A link may spell the same otherwise.
    if (query.toString() === read().toString()) return;
    // Commas and colons are allowed in a query, and read better than their codes.
    const text = query.toString().replaceAll("%2C", ",").replaceAll("%3A", ":");
    const search = text ? `?${text}` : "";
    written = location.pathname + search;
    if (push) history.pushState({}, "", written + location.hash);
    else history.replaceState(history.state, "", written + location.hash);
    clearTimeout(telling);
    telling = setTimeout(tell, push ? 0 : QUIET_MS);
  }

  // Dash reads the address when it hears of a step in the history.
  function tell() {
    clearTimeout(telling);
    telling = null;
    dispatchEvent(new PopStateEvent("popstate"));
  }

  window.bapo.clientside.view = {
    changed() {
      const now = location.pathname + location.search;
      if (now !== written) {
        written = now;
        dispatchEvent(new CustomEvent("bapo:view", { detail: read() }));
      }
      return "";
    },
  };
  window.bapoView = { read, write };
})();
