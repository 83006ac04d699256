// Invisible inputs of callbacks: a value that changes, and time that passes (components/store.py).
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
})();
