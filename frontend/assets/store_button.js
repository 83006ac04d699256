// Buttons that write into a store when they are pressed (components/store_button.py).
(function () {
  "use strict";

  document.addEventListener("click", (event) => {
    const button = event.target.closest("[data-store-button]");
    if (!button || button.disabled) return;
    const { store, what } = JSON.parse(button.dataset.storeButton);
    window.dash_clientside.set_props(store, { data: { ...what, at: Date.now() } });
  });
})();
