// Uploads of data sets and models (pages/resources/upload_panel.py): a file in parts, each with its CRC-32, which go on
// after a cut, a reload or another day.
(function () {
  "use strict";

  const { clientside, served, setProps, noUpdate, find, make, button, refusal } = window.bapo;
  const FIRST_PART = 1 << 20;
  const LARGEST_PART = 8 << 20;
  const QUICK_SECONDS = 3; // A part that took less is followed by one twice as large.
  const LONGEST_PAUSE = 30;
  const PASSING = new Set([429, 502, 503, 504]);
  const MODEL = ".zip";

  // ---------------------------------------------------------------- CRC-32, as in zlib

  const TABLE = Uint32Array.from({ length: 256 }, (_, index) => {
    let value = index;
    for (let bit = 0; bit < 8; bit++) value = value & 1 ? (value >>> 1) ^ 0xedb88320 : value >>> 1;
    return value >>> 0;
  });

  function crc32(bytes, before = 0) {
    let value = ~before;
    for (const byte of bytes) value = TABLE[(value ^ byte) & 255] ^ (value >>> 8);
    return ~value >>> 0;
  }

  // ---------------------------------------------------------------- requests

  class Refused extends Error {
    constructor(status, said) {
      super(refusal(said));
      Object.assign(this, { status, code: said.code });
    }
  }

  async function call(method, path, content, signal) {
    const isPart = content instanceof Uint8Array;
    const sent = content && {
      headers: { "Content-Type": isPart ? "application/octet-stream" : "application/json" },
      body: isPart ? content : JSON.stringify(content),
    };
    const answer = await fetch(served(`/api/v1/uploads${path}`), { method, signal, ...sent });
    const text = await answer.text();
    let said = {};
    try { said = text ? JSON.parse(text) : {}; } catch { said = { remedy: answer.statusText }; }
    if (!answer.ok) throw new Refused(answer.status, said);
    return said;
  }

  const pause = (seconds, signal) =>
    new Promise((resolve, reject) => {
      const timer = setTimeout(resolve, 1000 * seconds);
      signal.addEventListener("abort", () => { clearTimeout(timer); reject(signal.reason); }, { once: true });
    });

  // Again and again while the server is away: what has arrived stays there.
  async function insist(act, signal) {
    for (let seconds = 1; ; seconds = Math.min(2 * seconds, LONGEST_PAUSE)) {
      try {
        return await act();
      } catch (error) {
        const isCut = error instanceof TypeError || PASSING.has(error.status) || error.code === "damaged";
        if (signal.aborted || !isCut) throw error;
        tell(`The connection was cut. Going on in ${seconds} s; nothing is lost.`);
        await pause(seconds, signal);
      }
    }
  }

  // ---------------------------------------------------------------- what is shown

  let current = null;

  const size = (bytes) => {
    const [unit, by] = [["GB", 1e9], ["MB", 1e6], ["kB", 1e3]].find(([, least]) => bytes >= least) || ["B", 1];
    return `${(bytes / by).toFixed(by > 1 && bytes / by < 99.95 ? 1 : 0)} ${unit}`;
  };

  function tell(text) {
    const place = find("upload-words");
    if (place) place.textContent = text;
  }

  function problem(text) {
    const place = find("upload-problem");
    if (!place) return;
    place.textContent = text;
    place.hidden = !text;
    if (text) place.scrollIntoView({ block: "nearest" });
  }

  function showProgress(file) {
    const place = find("upload-progress");
    if (!place) return;
    const bar = make("progress", "upload-bar");
    bar.max = file.size;
    bar.value = 0;
    bar.setAttribute("aria-label", `Upload of ${file.name}`);
    const words = make("span", "upload-words");
    words.id = "upload-words";
    words.setAttribute("aria-live", "polite");
    place.replaceChildren(make("strong", "wrap-anywhere", file.name), bar, words, button("Cancel", "menu-button compact", cancel));
    place.hidden = false;
  }

  function endProgress() {
    const place = find("upload-progress");
    if (place) { place.replaceChildren(); place.hidden = true; }
    const drop = find("upload-drop");
    if (drop) drop.classList.remove("busy");
    const input = find("upload-file");
    if (input) input.value = "";
  }

  function moved(upload, begun) {
    const bar = document.querySelector("#upload-progress progress");
    if (bar) bar.value = upload.next_offset;
    const share = Math.floor((100 * upload.next_offset) / upload.num_bytes);
    const seconds = (performance.now() - begun.at) / 1000;
    const speed = (upload.next_offset - begun.offset) / Math.max(seconds, 0.001);
    tell(`${share} % · ${size(upload.next_offset)} of ${size(upload.num_bytes)}${seconds > 1 ? ` · ${size(speed)}/s` : ""}`);
  }

  function cancel() {
    if (!current) return;
    const { upload, stop } = current;
    stop.abort();
    if (upload) call("DELETE", `/${upload.id}`).catch(() => {});
  }

  // ---------------------------------------------------------------- an upload

  const bytesOf = async (file, from, to) => new Uint8Array(await file.slice(from, to).arrayBuffer());

  async function prefixCrc(file, end) {
    let value = 0;
    for (let from = 0; from < end; from += LARGEST_PART) value = crc32(await bytesOf(file, from, Math.min(from + LARGEST_PART, end)), value);
    return value;
  }

  async function begin(file, signal) {
    const project = find("upload-project")?.value || null;
    const kind = file.name.toLowerCase().endsWith(MODEL) ? "model" : "dataset";
    const body = { kind, file_name: file.name, num_bytes: file.size, project };
    let upload = await insist(() => call("POST", "", body, signal), signal);
    if (upload.next_offset && (await prefixCrc(file, upload.next_offset)) !== upload.crc32) {
      // Another file of the same name and size: the two are not joined.
      await call("DELETE", `/${upload.id}`, null, signal);
      upload = await insist(() => call("POST", "", body, signal), signal);
    }
    return upload;
  }

  async function send(file) {
    if (current) return;
    problem("");
    if (!file.size) { problem(`${file.name} is empty: choose a file with problems in it.`); return; }
    current = { stop: new AbortController(), upload: null };
    const { signal } = current.stop;
    find("upload-drop")?.classList.add("busy");
    showProgress(file);
    tell("Asking the server…");
    try {
      let upload = (current.upload = await begin(file, signal));
      const begun = { at: performance.now(), offset: upload.next_offset };
      let length = FIRST_PART;
      while (upload.next_offset < upload.num_bytes) {
        moved(upload, begun);
        const from = upload.next_offset;
        const part = await bytesOf(file, from, from + Math.min(length, upload.piece_bytes));
        const at = performance.now();
        upload = await insist(() => call("PUT", `/${upload.id}/content?offset=${from}&crc32=${crc32(part)}`, part, signal), signal);
        if (performance.now() - at < 1000 * QUICK_SECONDS) length = Math.min(2 * length, LARGEST_PART);
      }
      moved(upload, begun);
      upload = await insist(() => call("POST", `/${upload.id}/finish`, {}, signal), signal);
      setProps("upload-current", { data: { id: upload.id, at: Date.now() } });
    } catch (error) {
      if (!signal.aborted) {
        problem(error instanceof Refused ? error.message : `${file.name} cannot be read any more (${error.message}): choose it again.`);
        // What was refused for its content is not gone on with.
        if (current.upload && error.status === 422) call("DELETE", `/${current.upload.id}`).catch(() => {});
      }
    } finally {
      current = null;
      endProgress();
    }
  }

  // ---------------------------------------------------------------- the drop zone

  const zone = (event) => event.target.closest?.(".upload-drop");

  document.addEventListener("change", (event) => {
    if (event.target.id === "upload-file" && event.target.files.length) send(event.target.files[0]);
  });
  for (const name of ["dragenter", "dragover"]) {
    document.addEventListener(name, (event) => {
      if (!find("upload-drop") || !event.dataTransfer?.types.includes("Files")) return;
      // A file that is dropped outside the zone would replace the page.
      event.preventDefault();
      find("upload-drop").classList.toggle("over", Boolean(zone(event)));
    });
  }
  document.addEventListener("dragleave", (event) => zone(event)?.classList.remove("over"));
  document.addEventListener("drop", (event) => {
    const drop = find("upload-drop");
    if (!drop) return;
    event.preventDefault();
    drop.classList.remove("over");
    if (!zone(event)) return;
    const files = event.dataTransfer.files;
    if (files.length > 1) problem("Drop one file at a time: a model's folder as one .zip.");
    else if (files.length) send(files[0]);
  });
  addEventListener("beforeunload", (event) => { if (current) event.preventDefault(); });

  window.bapo.crc32 = crc32;
  clientside.uploads = {
    // A panel that was closed says nothing of the upload before.
    opened(isOpen) {
      if (!isOpen) cancel();
      return noUpdate();
    },
  };
})();
