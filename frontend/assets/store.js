// Invisible inputs of callbacks: a value that changes, time that passes, and buttons that write into a store when they are
// pressed (components/elements.py).
(function () {
  "use strict";

  // Dash keeps the value among the properties of the page's components.
  window.bapo_elements.Store = () => null;

  window.bapo_elements.Interval = ({ interval, disabled, n_intervals: count = 0, setProps }) => {
    const { useEffect, useRef } = window.React;
    const passed = useRef(0);
    passed.current = count;
    useEffect(() => {
      if (disabled) return undefined;
      const timer = setInterval(() => setProps({ n_intervals: passed.current + 1 }), interval);
      return () => clearInterval(timer);
    }, [disabled, interval]);
    return null;
  };

  document.addEventListener("click", (event) => {
    const button = event.target.closest("[data-store-button]");
    if (!button || button.disabled) return;
    const { store, what } = JSON.parse(button.dataset.storeButton);
    window.bapo.setProps(store, { data: { ...what, at: Date.now() } });
  });
})();
