// The log of a run: its end first, then whatever is added; earlier lines on request; search in what is loaded.
(function () {
  "use strict";

  const { clientside, find, make, noUpdate, plural, save, setProps } = window.bapo;

  const POLL_MS = 3000;
  const NEAR_END = 40; // Pixels from the end at which a reader counts as being there.
  const MOST_LINES = 50000;

  let log = null; // The open one.

  clientside.log = {
    mounted(_, run) {
      const box = find("log-text");
      log = { run, box, next: null, first: 0, matches: [], match: -1, query: "", follow: true, busy: false };
      box.addEventListener("scroll", () => onScroll(log), { passive: true });
      setWrap(window.bapoView.read().get("wrap") !== "off");
      log.query = window.bapoView.read().get("q") || "";
      log.attempt = window.bapoView.read().get("attempt") || "";
      begin(log);
      return run;
    },
    switched(query, follow, wrap, attempt) {
      if (!log) return noUpdate();
      if (attempt !== log.attempt) {
        // Each attempt has a separate log: answers to earlier requests belong to the previous one.
        log = { ...log, attempt, next: null, first: 0, matches: [], match: -1, follow: true, busy: false };
        begin(log);
      }
      if (query !== log.query) {
        log.query = query || "";
        search(log, true);
      }
      if (follow !== log.follow) {
        log.follow = follow;
        if (follow) toEnd(log);
      }
      setWrap(wrap);
      window.bapoView.write({ q: query || null, wrap: wrap ? null : "off", attempt: attempt || null });
      return noUpdate();
    },
  };

  const isOpen = (which) => which === log && which.box.isConnected;
  const say = (text) => { find("log-state").textContent = text; };
  const setWrap = (wrap) => log.box.classList.toggle("no-wrap", !wrap);

  async function ask(which, query) {
    const asked = which.attempt ? { ...query, attempt: which.attempt } : query;
    return window.bapo.ask(`/api/v1/runs/${which.run}/log?${new URLSearchParams(asked)}`);
  }

  const unread = (error) => say(`The log cannot be read: ${error.message}. Trying again …`);

  async function begin(which) {
    try {
      const chunk = await ask(which, {});
      if (!isOpen(which)) return;
      which.next = chunk.next_offset;
      which.first = chunk.first_offset;
      which.box.replaceChildren(...linesOf(chunk.text));
      settle(which);
      toEnd(which);
      search(which, Boolean(which.query));
    } catch (error) {
      if (isOpen(which)) unread(error);
    }
  }

  function settle(which) {
    find("log-earlier").hidden = !which.first;
    const count = which.box.childElementCount;
    const left = which.first ? ", earlier ones are not loaded" : "";
    say(count ? plural(count, "line") + left : "No output yet.");
  }

  async function more(which) {
    if (which.busy || document.hidden) return;
    which.busy = true;
    try {
      if (which.next === null) {
        await begin(which);
        return;
      }
      for (;;) {
        const chunk = await ask(which, { offset: which.next });
        if (!isOpen(which) || !chunk.text) break;
        which.next = chunk.next_offset;
        which.box.append(...linesOf(chunk.text));
        while (which.box.childElementCount > MOST_LINES) which.box.firstElementChild.remove();
        settle(which);
        if (which.follow) toEnd(which);
        search(which, false);
      }
    } catch (error) {
      if (isOpen(which)) unread(error);
    } finally {
      which.busy = false;
    }
  }

  async function earlier(which) {
    if (!which.first || which.busy) return;
    which.busy = true;
    try {
      const chunk = await ask(which, { before: which.first });
      if (!isOpen(which)) return;
      const from = which.box.scrollHeight - which.box.scrollTop;
      which.first = chunk.first_offset;
      which.box.prepend(...linesOf(chunk.text));
      which.box.scrollTop = which.box.scrollHeight - from; // What was looked at stays where it is.
      settle(which);
      search(which, false);
    } catch (error) {
      say(`The log cannot be read: ${error.message}.`);
    } finally {
      which.busy = false;
    }
  }

  async function download(which) {
    say("Loading the whole log …");
    const parts = [];
    let offset = 0;
    for (;;) {
      const chunk = await ask(which, { offset });
      if (!chunk.text) break;
      parts.push(chunk.text);
      offset = chunk.next_offset;
    }
    save(`${which.run}${which.attempt ? `-attempt-${which.attempt}` : ""}.log`, parts.join(""), "text/plain");
    settle(which);
  }

  const LEVELS = [
    [/\b(error|critical|fatal|exception|traceback)\b/i, "error"],
    [/\bwarn(ing)?\b/i, "warning"],
  ];

  function linesOf(text) {
    if (!text) return [];
    return text.replace(/\n$/, "").split("\n").map((content) => {
      const level = LEVELS.find(([pattern]) => pattern.test(content))?.[1];
      return make("div", level ? `log-line log-${level}` : "log-line", content || "\u200b");
    });
  }

  // ---------------------------------------------------------------- following

  function toEnd(which) {
    which.box.scrollTop = which.box.scrollHeight;
  }

  function onScroll(which) {
    if (!isOpen(which)) return;
    const atEnd = which.box.scrollHeight - which.box.scrollTop - which.box.clientHeight < NEAR_END;
    if (atEnd !== which.follow) {
      which.follow = atEnd;
      setProps("log-follow", { checked: atEnd });
    }
  }

  // ---------------------------------------------------------------- search

  function search(which, jump) {
    const wanted = which.query.toLowerCase();
    which.matches = [];
    const ranges = [];
    if (wanted) {
      for (const line of which.box.children) {
        const content = line.textContent.toLowerCase();
        for (let at = content.indexOf(wanted); at >= 0; at = content.indexOf(wanted, at + wanted.length)) {
          const range = new Range();
          range.setStart(line.firstChild, at);
          range.setEnd(line.firstChild, at + wanted.length);
          ranges.push(range);
          which.matches.push(line);
        }
      }
    }
    which.ranges = ranges;
    if (window.CSS?.highlights) CSS.highlights.set("log-match", new Highlight(...ranges));
    if (jump) which.match = ranges.length ? ranges.length - 1 : -1; // The newest one.
    show(which, jump);
  }

  function show(which, jump) {
    const count = which.matches.length;
    which.match = Math.min(which.match, count - 1);
    find("log-matches").textContent = which.query ? `${count ? which.match + 1 : 0} of ${count.toLocaleString()}` : "";
    for (const id of ["log-previous", "log-next"]) find(id).disabled = count === 0;
    const current = which.ranges[which.match];
    if (window.CSS?.highlights) CSS.highlights.set("log-current", new Highlight(...(current ? [current] : [])));
    if (jump && current) which.matches[which.match].scrollIntoView({ block: "center" });
  }

  function step(which, by) {
    const count = which.matches.length;
    if (!count) return;
    which.match = (which.match + by + count) % count;
    show(which, true);
  }

  document.addEventListener("click", (event) => {
    const id = event.target.closest?.("button")?.id;
    if (!log || !log.box.isConnected) return;
    if (id === "log-earlier") earlier(log);
    else if (id === "log-download") download(log).catch((error) => say(`The log cannot be read: ${error.message}.`));
    else if (id === "log-previous") step(log, -1);
    else if (id === "log-next") step(log, 1);
  });
  document.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && event.target.id === "log-search" && log) step(log, event.shiftKey ? -1 : 1);
  });
  addEventListener("bapo:news", () => { if (log && log.box.isConnected) more(log); });
  setInterval(() => { if (log && log.box.isConnected) more(log); }, POLL_MS);
})();
