// The page's address, and links that change it without loading another document (components/elements.py).
(function () {
  "use strict";

  const { here, served } = window.bapo;
  const PUSHED = "_dashprivate_pushstate"; // As links of Mantine's menus say it.

  const address = () => ({ pathname: here(), search: location.search, href: location.href });

  window.bapo_elements.Location = ({ pathname, search, href, setProps }) => {
    const { useLayoutEffect, useRef } = window.React;
    const sent = useRef(null);

    function tell() {
      sent.current = address();
      setProps(sent.current);
    }

    useLayoutEffect(() => {
      for (const event of ["popstate", PUSHED]) addEventListener(event, tell);
      return () => { for (const event of ["popstate", PUSHED]) removeEventListener(event, tell); };
    }, []);

    // A callback leads elsewhere by the whole address or by its parts.
    useLayoutEffect(() => {
      const known = sent.current;
      if (known) {
        if (href === known.href && pathname === known.pathname && search === known.search) return;
        const asked = new URL(served(href === known.href ? pathname + search : href), location);
        if (asked.href !== location.href) history.pushState({}, "", asked);
      }
      tell();
    }, [pathname, search, href]);
    return null;
  };

  window.bapo_elements.Link = ({ href, setProps: _, ...properties }) => {
    const safe = window.dash_clientside.clean_url(served(href));
    function visit(event) {
      if (event.metaKey || event.shiftKey || event.altKey || event.ctrlKey) return; // Another tab, or a download.
      event.preventDefault();
      history.pushState({}, "", safe);
      dispatchEvent(new CustomEvent(PUSHED));
      scrollTo(0, 0);
    }
    return window.React.createElement("a", { ...properties, href: safe, onClick: visit });
  };
})();
