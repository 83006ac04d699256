// Pieces that the scripts of all pages share. The underscore makes Dash load this file before the others.
(function () {
  "use strict";

  const clientside = (window.dash_clientside = window.dash_clientside || {});
  const setProps = (id, props) => clientside.set_props(id, props);
  // Every component of the page inspects each change, so skip values that did not change.
  const setChanged = (id, props) => {
    const now = window.dash_component_api.getLayout(id)?.props ?? {};
    const changed = Object.entries(props).filter(([name, value]) => !same(now[name], value));
    if (changed.length) setProps(id, Object.fromEntries(changed));
  };
  // Within the window, or so many pixels beyond its edges.
  const inSight = (element, margin = 0) => {
    const { top, bottom, width } = element.getBoundingClientRect();
    return width > 0 && bottom > -margin && top < innerHeight + margin;
  };
  const noUpdate = () => clientside.no_update;

  // ---------------------------------------------------------------- elements

  const find = (id) => document.getElementById(id);
  const scheme = () => document.documentElement.getAttribute("data-mantine-color-scheme");

  function make(tag, className, ...children) {
    const element = document.createElement(tag);
    if (className) element.className = className;
    element.append(...children.filter((child) => child !== null));
    return element;
  }

  function button(label, className, act) {
    const element = make("button", className, label);
    element.type = "button";
    if (act) element.addEventListener("click", act);
    return element;
  }

  function icon(name) {
    const element = make("span", `icon icon-${name}`);
    element.setAttribute("aria-hidden", "true");
    return element;
  }

  // The icon says for a moment that it is done.
  async function copy(text, mark) {
    await navigator.clipboard.writeText(text);
    mark.classList.replace("icon-copy", "icon-check");
    setTimeout(() => mark.classList.replace("icon-check", "icon-copy"), 1200);
  }

  // ---------------------------------------------------------------- texts

  const count = (number) => String(number).replace(/\B(?=(\d{3})+$)/g, ",");
  const plural = (number, one, many = `${one}s`) => `${count(number)} ${number === 1 ? one : many}`;
  const two = (number) => String(number).padStart(2, "0");
  const day = (moment) => `${moment.getFullYear()}-${two(moment.getMonth() + 1)}-${two(moment.getDate())}`;
  const same = (one, other) => JSON.stringify(one) === JSON.stringify(other);
  const fileName = (text) => text.toLowerCase().replace(/[^a-z0-9]+/g, "-").slice(0, 80);

  // ---------------------------------------------------------------- storage

  // A text that outlives the page: the browser's, or its tab's alone. Where storage is forbidden it is always null.
  function stored(key, kind = "localStorage") {
    const attempt = (act) => {
      try {
        return act(window[kind]);
      } catch {
        return null;
      }
    };
    return {
      read: () => attempt((storage) => storage.getItem(key)),
      write: (text) => attempt((storage) => (text === null ? storage.removeItem(key) : storage.setItem(key, text))),
    };
  }

  // ---------------------------------------------------------------- addresses

  // Scripts name the dashboard's own addresses, such as /runs. Where a proxy serves it under a path, such as /bapo, the
  // browser needs that path before them: whatever is fetched, linked to or written into the address bar passes `served`.
  const prefix = window.bapoPrefix ?? "";
  const served = (path) => (/^\/(?!\/)/.test(path) ? prefix + path : path);
  const here = (path = location.pathname) => path.slice(prefix.length) || "/";

  // ---------------------------------------------------------------- requests

  // The server's refusal as a sentence.
  const refusal = ({ field, value, remedy, request_id: request }) =>
    (field ? `${field} = ${JSON.stringify(value)}: ` : "") + remedy + (request && request !== "none" ? ` (request ${request})` : "");

  async function ask(path, signal) {
    const answer = await fetch(served(path), { signal });
    if (answer.ok) return answer.json();
    if (answer.status === 401) location.reload(); // The session ended: the gate shows the login page.
    const content = await answer.json().catch(() => ({}));
    throw new Error(content.remedy ? refusal(content) : answer.statusText);
  }

  window.bapo = {
    ...window.bapoFiles,
    clientside, setProps, setChanged, noUpdate, find, inSight, scheme, make, button, icon, copy, count, plural, two, day, same, fileName, stored, refusal, ask, served, here, prefix,
  };
})();
