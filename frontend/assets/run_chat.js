// The tab with messages to the run's models: their answers side by side, which grow while the models write.
(function () {
  "use strict";

  const { ask, clientside, find, icon, make, plural, same } = window.bapo;
  const { textBox } = window.bapoText;
  const { failure, prompt, verdict, whenMounted } = window.bapoGroups;

  const POLL_MS = 1000;
  const OPEN = ["requested", "answering"];
  const NAMES = { base: "Base model", warm_start: "Warm start", trained: "Newest checkpoint" };

  let view = null;

  const panel = () => find("chats");

  async function load() {
    const mine = view;
    clearTimeout(mine.timer);
    try {
      const page = await ask(`/api/v1/runs/${mine.run}/chats`);
      if (mine !== view || !panel()) return;
      draw(page.items);
      if (page.items.some(({ state }) => OPEN.includes(state))) mine.timer = setTimeout(load, POLL_MS);
    } catch (error) {
      if (mine === view && panel()) panel().replaceChildren(failure(error));
    }
  }

  // Only what has changed is drawn again: a text that someone has unfolded or marked stays as it is.
  function draw(chats) {
    const known = new Map(view.drawn.map((each) => [each.chat.id, each]));
    view.drawn = chats.map((chat) => {
      const before = known.get(chat.id);
      return before && same(before.chat, chat) ? before : { chat, box: card(chat) };
    });
    const boxes = view.drawn.map(({ box }) => box);
    if (boxes.length && same([...panel().children].map((box) => boxes.indexOf(box)), boxes.map((_, at) => at))) return;
    panel().replaceChildren(...(boxes.length ? boxes : [nothing()]));
    if (view.isAsked) boxes[0]?.scrollIntoView({ block: "nearest" });
    view.isAsked = false;
  }

  const nothing = () => make("div", "panel-empty", make("strong", "", "Nothing asked yet"),
    make("span", "", "The answers of the run's models are shown here side by side, for everyone in the project."));

  function card(chat) {
    const facts = [
      chat.temperature ? `temperature ${chat.temperature}, seed ${chat.seed}` : "the likeliest tokens",
      `up to ${plural(chat.max_tokens, "token")}`,
      `asked by ${chat.author}`,
    ];
    const head = make("div", "sample-head", ...facts.map((fact) => make("span", "fact", fact)), remove(chat));
    const box = make("article", "sample-card", head, prompt(chat.prompt, ""), answers(chat));
    box.setAttribute("aria-label", `Answers to: ${chat.prompt.slice(0, 80)}`);
    box.setAttribute("aria-busy", OPEN.includes(chat.state));
    return box;
  }

  function answers(chat) {
    if (chat.state === "failed") return make("div", "panel-problem", `No answer: ${chat.reason}.`);
    if (chat.state === "requested") return make("span", "fact", `${chat.reason} …`);
    return make("div", "chat-answers", ...chat.sides.map((side) => answer(chat, side)));
  }

  function answer(chat, side) {
    const said = chat.answers.find((each) => each.side === side);
    const name = make("strong", "", NAMES[side]);
    const model = said && side === "trained" ? make("span", "fact", said.model) : null;
    const judged = said && said.is_correct !== null ? verdict(said.is_correct) : null;
    const cut = said?.is_cut ? make("span", "response-cut", "cut") : null;
    const length = said?.num_tokens ? make("span", "response-tokens", plural(said.num_tokens, "token")) : null;
    const head = make("div", "chat-side", name, model, judged, length, cut);
    return make("section", "chat-answer", head, said?.is_finished ? finished(said) : growing(said));
  }

  const finished = ({ text, num_tokens: numTokens }) =>
    text.trim() ? textBox(text, "response-text", { numTokens }) : make("span", "fact", "It wrote nothing and ended its turn.");

  const growing = (said) => said?.text
    ? make("code", "response-text", said.text, " …")
    : make("span", "fact", said ? "loading the model …" : "waits for its turn …");

  function remove(chat) {
    const mark = icon("cross");
    mark.style.width = mark.style.height = "14px";
    const element = make("button", "text-button for-members chat-delete", mark);
    element.type = "button";
    element.dataset.storeButton = JSON.stringify({ store: "chat-button", what: { delete: chat.id } });
    element.setAttribute("aria-label", OPEN.includes(chat.state) ? "Stop and delete" : "Delete");
    element.title = element.getAttribute("aria-label");
    return element;
  }

  clientside.chat = {
    show: whenMounted((run) => `#chats[data-run="${run}"]`, (run, asked) => {
      clearTimeout(view?.timer);
      const isHere = view?.run === run && panel().querySelector("article");
      view = { run, asked, drawn: isHere ? view.drawn : [], isAsked: Boolean(asked) && asked !== view?.asked, timer: null };
      load();
    }),
  };
})();
