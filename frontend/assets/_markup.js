// Elements that no callback names, drawn as one component of Dash (components/markup.py).
(function () {
  "use strict";

  // What is more than an element of HTML.
  const parts = {
    Link: () => window.bapo_elements.Link,
    Tooltip: () => window.dash_mantine_components.Tooltip,
  };

  function drawn(node, components) {
    if (typeof node === "string") return node;
    if (typeof node === "number") return components[node];
    const [name, properties, within] = node;
    const kind = parts[name]?.() ?? name;
    // As Dash's own links: no address that is a script.
    const clean = name === "a" && properties.href ? { ...properties, href: window.dash_clientside.clean_url(properties.href) } : properties;
    return window.React.createElement(kind, clean, ...within.map((each) => drawn(each, components)));
  }

  window.bapo_elements = {
    Markup({ tree, children }) {
      const components = [children].flat();
      return window.React.createElement(window.React.Fragment, null, ...tree.map((node) => drawn(node, components)));
    },

    // What is folded up has no width.
    Later({ children }) {
      const { cloneElement, createElement, useEffect, useRef, useState } = window.React;
      const [isSeen, see] = useState(false);
      const place = useRef(null);
      useEffect(() => {
        if (isSeen) return undefined;
        // It may still hear of a place that is gone with its page.
        const observer = new ResizeObserver(() => { if (place.current?.offsetWidth) see(true); });
        observer.observe(place.current);
        return () => observer.disconnect();
      }, [isSeen]);
      // Dash draws a new component as it was made, any other as its store has it by now.
      return isSeen ? cloneElement(children, { _newRender: 0 }) : createElement("div", { ref: place });
    },
  };
})();
