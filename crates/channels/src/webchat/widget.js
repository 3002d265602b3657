/*
 * The web chat. Embed it with
 *   <script src="https://HOST/widget.js" data-binding="bnd_…" defer></script>
 *
 * data-binding   the binding of the chat
 * data-title     the text on the button and above the chat
 * data-open      "true" to open the chat with the page
 * data-greeting  the first words, shown while nobody has written
 * data-color     the colour of the button and of the visitor's messages, such as "#0a7"
 * data-language  the language of the chat's own words; by default that of the browser
 * data-email, data-proof, data-expires
 *                the visitor's address and its proof by the page's own server
 */
(() => {
  "use strict";
  const script = document.currentScript;
  const { binding, title = "Chat", open, greeting, email, proof, expires } = script.dataset;
  const language = script.dataset.language || navigator.language;
  const base = `${new URL(script.src).origin}/chat/${encodeURIComponent(binding)}`;
  const storageKey = `ostler:${binding}:${email || ""}`;
  const reduced = matchMedia("(prefers-reduced-motion: reduce)").matches;

  /* The chat's own words; agents write in the language of the visitor. */
  const WORDS = {
    en: ["Write a message …", "Send", "Close", "is writing", "Not sent. Please try again.",
      "Sending again …", "This conversation has ended.", "Attach files", "Too large or too many files.", "You"],
    de: ["Nachricht schreiben …", "Senden", "Schließen", "schreibt", "Nicht gesendet. Bitte noch einmal versuchen.",
      "Wird erneut gesendet …", "Dieses Gespräch ist beendet.", "Dateien anhängen", "Zu große oder zu viele Dateien.", "Sie"],
    es: ["Escribe un mensaje …", "Enviar", "Cerrar", "está escribiendo", "No enviado. Inténtalo de nuevo.",
      "Reenviando …", "Esta conversación ha terminado.", "Adjuntar archivos", "Archivos demasiado grandes o numerosos.", "Tú"],
    fr: ["Écrivez un message …", "Envoyer", "Fermer", "écrit", "Non envoyé. Veuillez réessayer.",
      "Nouvel envoi …", "Cette conversation est terminée.", "Joindre des fichiers", "Fichiers trop gros ou trop nombreux.", "Vous"],
    it: ["Scrivi un messaggio …", "Invia", "Chiudi", "sta scrivendo", "Non inviato. Riprova.",
      "Nuovo invio …", "Questa conversazione è terminata.", "Allega file", "File troppo grandi o troppi.", "Tu"],
    pt: ["Escreva uma mensagem …", "Enviar", "Fechar", "está escrevendo", "Não enviado. Tente de novo.",
      "Reenviando …", "Esta conversa terminou.", "Anexar arquivos", "Arquivos grandes demais ou demasiados.", "Você"],
  };
  const [PLACEHOLDER, SEND, CLOSE, WRITING, NOT_SENT, AGAIN, ENDED, ATTACH, TOO_LARGE, YOU] =
    WORDS[(language || "en").slice(0, 2).toLowerCase()] || WORDS.en;

  /* Creates an element. Text is never interpreted as HTML. */
  const make = (tag, attributes = {}, ...children) => {
    const element = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) {
      if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
      else if (value !== undefined) element.setAttribute(name, value);
    }
    element.append(...children);
    return element;
  };

  const style = `
    :host { all: initial; --brand: #1f5eff; font: 15px/1.45 system-ui, sans-serif; color-scheme: light dark; }
    * { box-sizing: border-box; font: inherit; }
    .launch, .chat { position: fixed; right: 1rem; bottom: 1rem; z-index: 2147483000; }
    button { cursor: pointer; border: 0; border-radius: .6rem; padding: .55rem .9rem;
      background: var(--brand); color: #fff; }
    button:focus-visible, textarea:focus-visible, a:focus-visible {
      outline: 3px solid #ffb300; outline-offset: 2px; }
    .chat { display: flex; flex-direction: column; width: min(24rem, calc(100vw - 2rem));
      height: min(34rem, calc(100vh - 2rem)); border-radius: .9rem; overflow: hidden;
      background: Canvas; color: CanvasText; border: 1px solid #8886;
      box-shadow: 0 .5rem 2rem #0004; }
    [hidden] { display: none !important; }
    header { display: flex; justify-content: space-between; align-items: center;
      padding: .6rem .9rem; background: var(--brand); color: #fff; }
    h2 { margin: 0; font-weight: 600; }
    .log { flex: 1; overflow-y: auto; padding: .9rem; display: flex; flex-direction: column;
      gap: .6rem; }
    .message { max-width: 85%; padding: .5rem .75rem; border-radius: .8rem; align-self: flex-start;
      background: #8882; white-space: pre-wrap; overflow-wrap: anywhere; }
    .visitor { align-self: flex-end; background: var(--brand); color: #fff; }
    .draft, .sending { opacity: .7; }
    .typing { display: inline-flex; gap: .25rem; align-items: center; }
    .typing i { width: .4rem; height: .4rem; border-radius: 50%; background: currentColor;
      opacity: .35; animation: blink 1.2s infinite; }
    .typing i:nth-child(2) { animation-delay: .2s; }
    .typing i:nth-child(3) { animation-delay: .4s; }
    @keyframes blink { 40% { opacity: 1; } }
    @media (prefers-reduced-motion: reduce) { .typing i { animation: none; } }
    @media (max-width: 30rem) { .chat { right: 0; bottom: 0; width: 100vw; height: 100dvh; border-radius: 0; } }
    .notice { align-self: center; background: none; opacity: .8; }
    .name { display: flex; gap: .6rem; justify-content: space-between; font-size: .8em; opacity: .8; }
    .quiet { background: none; color: inherit; padding: .3rem .6rem; font-size: 1.3em; }
    .row { display: flex; flex-wrap: wrap; gap: .4rem; margin-top: .4rem; }
    .state { min-height: 1.5em; padding: 0 .9rem; font-size: .85em; opacity: .8; }
    form { display: flex; gap: .5rem; padding: .6rem; border-top: 1px solid #8884; }
    textarea { flex: 1; resize: none; border: 1px solid #8888; border-radius: .6rem;
      padding: .5rem; background: Field; color: FieldText; }
    code { font-family: ui-monospace, monospace; }
    img { max-width: 100%; border-radius: .4rem; }`;

  const log = make("div", { class: "log", role: "log", "aria-live": "polite", tabindex: "0" });
  const state = make("div", { class: "state", role: "status" });
  const input = make("textarea", { rows: "1", "aria-label": PLACEHOLDER, placeholder: PLACEHOLDER,
    maxlength: "16000" });
  const chosen = make("input", { type: "file", multiple: "", hidden: "", "aria-label": ATTACH });
  const attach = make("button", { type: "button", class: "quiet", "aria-label": ATTACH, title: ATTACH }, "+");
  const form = make("form", {}, attach, chosen, input, make("button", { type: "submit" }, SEND));
  const close = make("button", { type: "button", "aria-label": CLOSE }, "✕");
  const chat = make("section", { class: "chat", role: "dialog", "aria-label": title, hidden: "" },
    make("header", {}, make("h2", {}, title), close), log, state, form);
  const launch = make("button", { class: "launch", type: "button", "aria-expanded": "false" }, title);
  const host = make("div");
  if (script.dataset.color) host.style.setProperty("--brand", script.dataset.color);
  host.attachShadow({ mode: "open" }).append(make("style", {}, style), chat, launch);

  /* Renders the subset of Markdown that a chat needs. */
  const inline = /(\*\*|__)(.+?)\1|(\*|_)(\S(?:.*?\S)?)\3|`([^`]+)`|\[([^\]]+)\]\((https?:\/\/[^\s)]+)\)|(https?:\/\/[^\s<>)]+)/;
  const markdown = (text) => {
    const found = inline.exec(text);
    if (!found) return [text];
    const [all, , bold, , italic, code, label, url, bareUrl] = found;
    const link = (text, href) => make("a", { href, target: "_blank", rel: "noopener noreferrer" }, text);
    const element = bold ? make("strong", {}, ...markdown(bold))
      : italic ? make("em", {}, ...markdown(italic))
        : code ? make("code", {}, code)
          : label ? link(label, url) : link(bareUrl, bareUrl);
    return [text.slice(0, found.index), element, ...markdown(text.slice(found.index + all.length))];
  };

  /* The draft that an agent is writing, until the finished message arrives. */
  let draft = null;
  const discardDraft = () => { if (draft) draft.remove(); draft = null; };
  const appendDraft = ({ offset, text }) => {
    if (offset === 0) discardDraft();
    showTyping(false);
    if (!draft) {
      draft = make("div", { class: "message agent draft", "aria-hidden": "true" });
      log.append(draft);
    }
    draft.append(text);
    log.scrollTo({ top: log.scrollHeight, behavior: "auto" });
  };

  /* Dots while somebody writes whose words do not stream. */
  let dots = null;
  const showTyping = (on) => {
    if (dots) dots.remove();
    dots = on && !draft
      ? make("div", { class: "message agent", "aria-label": WRITING },
        make("span", { class: "typing" }, make("i"), make("i"), make("i")))
      : null;
    if (dots) log.append(dots);
    log.scrollTo({ top: log.scrollHeight, behavior: "auto" });
  };

  const time = (at) => new Date(at).toLocaleTimeString(language, { hour: "2-digit", minute: "2-digit" });
  const head = (name, at) => make("span", { class: "name" }, name, ...(at ? [make("time", {}, time(at))] : []));

  /* What the visitor has just written, until the conversation has it. */
  const sending = [];
  const showSending = (text, files) => {
    const names = files.map((file) => make("span", {}, `+ ${file.name} `));
    const element = make("div", { class: "message visitor sending" }, head(YOU), text, ...names);
    const entry = { text, element };
    sending.push(entry);
    log.append(element);
    log.scrollTo({ top: log.scrollHeight, behavior: "auto" });
    return () => {
      sending.splice(sending.indexOf(entry), 1);
      element.remove();
    };
  };
  const settleSending = (text) => {
    const entry = sending.find((one) => one.text === text) || sending[0];
    if (!entry) return;
    sending.splice(sending.indexOf(entry), 1);
    entry.element.remove();
  };

  const welcome = greeting && make("div", { class: "message agent" }, greeting);
  if (welcome) log.append(welcome);

  const shown = new Map();
  const showMessage = (message) => {
    if (shown.has(message.id)) return;
    if (message.from === "visitor") settleSending(message.text);
    else {
      discardDraft();
      showTyping(false);
    }
    const body = message.markdown ? markdown(message.text) : [message.text];
    const files = (message.files || []).map((file) => {
      const name = file.name || file.media_type;
      const preview = file.media_type.startsWith("image/") && !file.media_type.includes("svg")
        ? make("img", { src: file.url, alt: name }) : name;
      return make("a", { href: file.url, target: "_blank", rel: "noopener noreferrer" }, preview);
    });
    const buttons = (message.buttons || []).map((row) => make("div", { class: "row" },
      ...row.map((button) => button.link
        ? make("a", { href: button.link, target: "_blank", rel: "noopener noreferrer" }, button.label)
        : make("button", { type: "button", onclick: () => post({ press: button.press }) }, button.label))));
    const name = message.from === "visitor" ? YOU : message.name || (message.from === "notice" ? "" : title);
    const element = make("div", { class: `message ${message.from}` }, head(name, message.at),
      ...body, ...files, ...buttons);
    shown.set(message.id, element);
    /* What is still being sent or written stays below. */
    const below = sending[0]?.element || draft || dots;
    if (below) log.insertBefore(element, below);
    else log.append(element);
    log.scrollTo({ top: log.scrollHeight, behavior: reduced ? "auto" : "smooth" });
  };

  /* A command was carried out and is no part of the conversation, which may be another now. */
  const showReply = (id, text, reply) => {
    showMessage({ id: `${id}-command`, from: "visitor", text, at: Date.now() });
    showMessage({ id: `${id}-reply`, from: "notice", text: reply, at: Date.now() });
    lastEvent = "";
    listen();
  };

  const call = async (path, options) => {
    const response = await fetch(`${base}/${path}`, options);
    if (!response.ok) throw Object.assign(new Error(response.statusText), { status: response.status });
    return response.status === 204 ? null : response.json();
  };

  const json = { "content-type": "application/json" };
  let token = localStorage.getItem(storageKey);
  const requestToken = async () => {
    const body = JSON.stringify(email ? { email, proof, expires: Number(expires) } : {});
    ({ token } = await call("visitors", { method: "POST", headers: json, body }));
    localStorage.setItem(storageKey, token);
  };

  /* The id stays the same when a request is retried, so it is accepted once. */
  const post = async (content) => {
    const bytes = crypto.getRandomValues(new Uint8Array(16));
    const id = Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
    let renewed = false;
    const body = JSON.stringify({ id, locale: navigator.language, ...content });
    for (let attempt = 0; ; attempt += 1) {
      try {
        if (!token) { await requestToken(); listen(); }
        const headers = { ...json, authorization: `Bearer ${token}` };
        const answer = await call("messages", { method: "POST", headers, body });
        state.textContent = "";
        if (answer && answer.reply) showReply(id, content.text, answer.reply);
        return true;
      } catch (error) {
        if (error.status === 401 && !renewed) { renewed = true; token = null; continue; }
        if ((error.status && error.status < 500 && error.status !== 429) || attempt >= 3) {
          state.textContent = NOT_SENT;
          return false;
        }
        state.textContent = AGAIN;
        await new Promise((wake) => { setTimeout(wake, 1000 * 2 ** attempt); });
      }
    }
  };

  /* An EventSource cannot send headers, and a token does not belong in a URL: a ticket
     that expires within a minute opens the stream. Throws if there is none. */
  let lastEvent = "";
  const eventsUrl = async () => {
    const headers = { authorization: `Bearer ${token}` };
    const { ticket } = await call("tickets", { method: "POST", headers });
    const after = lastEvent && `&after=${encodeURIComponent(lastEvent)}`;
    return `${base}/events?ticket=${encodeURIComponent(ticket)}${after}`;
  };

  let events = null;
  let opening = 0;
  const listen = async () => {
    if (events) events.close();
    events = null;
    const turn = opening += 1;
    const url = await eventsUrl().catch((error) => { if (turn === opening) retry(error.status); });
    if (!url || turn !== opening) return;
    events = new EventSource(url);
    events.onmessage = ({ data, lastEventId }) => {
      if (lastEventId) lastEvent = lastEventId;
      const event = JSON.parse(data);
      if (event.type === "message") { state.textContent = ""; showMessage(event); }
      if (event.type === "delta") appendDraft(event);
      if (event.type === "draft_discarded") discardDraft();
      if (event.type === "typing") {
        if (!event.on) discardDraft();
        showTyping(event.on);
      }
      if (event.type === "ended") state.textContent = ENDED;
    };
    events.onerror = () => {
      if (!events || events.readyState !== EventSource.CLOSED) return;
      events = null;
      /* Leaving the page also closes the stream, but then this never runs. */
      setTimeout(resume, 1000);
    };
  };

  /* Opens the stream again, with a new ticket. */
  const resume = () => { if (!events && token) listen(); };

  /* The token, and the conversation with it, is forgotten only if the server rejects it. */
  const retry = (status) => {
    if (status === 401) { token = null; localStorage.removeItem(storageKey); }
    else setTimeout(resume, 5000);
  };

  const toggle = (visible) => {
    chat.hidden = !visible;
    launch.hidden = visible;
    launch.setAttribute("aria-expanded", String(visible));
    if (visible && token && !events) listen();
    (visible ? input : launch).focus();
  };

  launch.addEventListener("click", () => toggle(true));
  close.addEventListener("click", () => toggle(false));
  chat.addEventListener("keydown", (event) => { if (event.key === "Escape") toggle(false); });
  input.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && !event.shiftKey && !event.isComposing) {
      event.preventDefault();
      form.requestSubmit();
    }
  });
  attach.addEventListener("click", () => chosen.click());
  chosen.addEventListener("change", () => submit());
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    return submit();
  });

  const MAX_FILES = 10;
  const MAX_FILE_BYTES = 5 * 1024 * 1024;

  const submit = async () => {
    const text = input.value.trim();
    const picked = Array.from(chosen.files || []);
    chosen.value = "";
    if (!text && picked.length === 0) return;
    if (picked.length > MAX_FILES || picked.some((file) => file.size > MAX_FILE_BYTES)) {
      state.textContent = TOO_LARGE;
      return;
    }
    input.value = "";
    const withdraw = showSending(text, picked);
    const files = await Promise.all(picked.map(encode));
    const content = { ...(text ? { text } : {}), ...(files.length > 0 ? { files } : {}) };
    if (await post(content)) return;
    withdraw();
    if (!input.value) input.value = text;
  };

  const encode = async (file) => {
    const bytes = new Uint8Array(await file.arrayBuffer());
    let binary = "";
    for (const byte of bytes) binary += String.fromCharCode(byte);
    return { name: file.name, media_type: file.type || "application/octet-stream", content: btoa(binary) };
  };

  const start = () => {
    document.body.append(host);
    if (open === "true") toggle(true);
  };
  if (document.body) start();
  else document.addEventListener("DOMContentLoaded", start);
})();
