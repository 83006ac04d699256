// Buttons that tell a store of their press (components/pressed.py).
(function () {
  "use strict";

  document.addEventListener("click", (event) => {
    const button = event.target.closest("[data-press]");
    if (!button || button.disabled) return;
    const { store, what } = JSON.parse(button.dataset.press);
    window.dash_clientside.set_props(store, { data: { ...what, at: Date.now() } });
  });
})();
