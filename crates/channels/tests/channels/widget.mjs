// Runs the widget on a minimal page, sends a message as a visitor, and prints the
// requests of the widget and what it shows.
import { readFileSync } from "node:fs";
import vm from "node:vm";

class Element {
  constructor(tag) {
    Object.assign(this, { tag, children: [], attributes: {}, listeners: {}, value: "", dataset: {} });
  }
  setAttribute(name, value) { this.attributes[name] = value; }
  append(...children) {
    for (const child of children) if (child instanceof Element) child.parent = this;
    this.children.push(...children);
  }
  insertBefore(child, below) {
    child.parent = this;
    this.children.splice(this.children.indexOf(below), 0, child);
  }
  remove() { this.parent.children = this.parent.children.filter((child) => child !== this); }
  addEventListener(name, listener) { this.listeners[name] = listener; }
  attachShadow() { this.shadow = new Element("shadow"); return this.shadow; }
  requestSubmit() { return this.listeners.submit({ preventDefault() {} }); }
  focus() {}
  scrollTo() {}
  find(wanted) {
    if (wanted(this)) return this;
    for (const child of this.children) {
      const found = child instanceof Element && child.find(wanted);
      if (found) return found;
    }
    return this.shadow?.find(wanted);
  }
  get text() {
    return this.children.map((child) => (child instanceof Element ? `<${child.tag} ${child.text}>` : child)).join("");
  }
}

const requests = [];
const sources = [];
// The first message is lost on the network, the second has an expired token.
const responses = [{ status: 200, body: { token: "t1" } }, null, { status: 401 },
  { status: 200, body: { token: "t2" } }, { status: 202, body: { id: "1" } }];
// The answers to requests for tickets: two streams begin, one begins again at the second
// try, and then the token is rejected.
const tickets = [200, 200, 503, 200, 401];
const fetch = async (url, { headers, body }) => {
  if (url.endsWith("/tickets")) {
    const status = tickets.shift();
    return { ok: status < 300, status, json: async () => ({ ticket: `for ${headers.authorization}` }) };
  }
  requests.push({ url, authorization: headers.authorization, body: JSON.parse(body) });
  const response = responses.shift();
  if (!response) throw new TypeError("the network is down");
  return { ok: response.status < 300, status: response.status, json: async () => response.body };
};
class EventSource {
  static CLOSED = 2;
  constructor(url) { this.url = url; sources.push(this); }
  close() { this.closed = true; }
}
const storage = new Map();
const body = new Element("body");
const document = {
  body,
  currentScript: { src: "https://ostler.example/widget.js", dataset: { binding: "bnd_1", open: "true", greeting: "Benvenuti!" } },
  createElement: (tag) => new Element(tag),
};
const page = vm.createContext({
  document, fetch, EventSource, URL, AbortController, crypto, navigator: { language: "it" }, console,
  matchMedia: () => ({ matches: true }),
  setTimeout: (wake) => setImmediate(wake),
  localStorage: {
    getItem: (key) => storage.get(key) ?? null,
    setItem: (key, value) => storage.set(key, value),
    removeItem: (key) => storage.delete(key),
  },
});
vm.runInContext(readFileSync(process.argv[2], "utf8"), page);

const input = body.find((element) => element.tag === "textarea");
const form = body.find((element) => element.tag === "form");
input.value = " Ciao ";
const submitted = form.requestSubmit();
const log = body.find((element) => element.attributes.role === "log");
const visible = () => log.children.map((child) => child.text);
const sending = visible();
await submitted;
const message = {
  type: "message", id: "m1", from: "agent", name: "Gia", markdown: true, files: [],
  text: "**Sì** <img src=x> [menu](https://x.it) [no](javascript:x)",
  buttons: [[{ label: "Prenota", press: "book:1" }]],
};
await new Promise(setImmediate);
const receive = (event) => sources.at(-1).onmessage({ data: JSON.stringify(event), lastEventId: event.id ?? "" });
receive({ type: "message", id: "m0", from: "visitor", name: null, markdown: false, files: [], text: "Ciao", buttons: [] });
const sent = visible();
receive({ type: "typing", on: true });
const typing = visible().length - sent.length;
receive({ type: "typing", on: false });
const drafts = [];
for (const event of [{ type: "delta", offset: 0, text: "Sal" }, { type: "draft_discarded" },
  { type: "delta", offset: 0, text: "S" }, { type: "delta", offset: 1, text: "ì" }]) {
  receive(event);
  drafts.push(visible().slice(sent.length).join("|"));
}
for (let twice = 0; twice < 2; twice += 1) receive(message);
const events = sources.map((source) => source.url);
const shown = visible().slice(sent.length);

// The stream is closed: at first the token stays, because the visitor may only be
// leaving the page. It is forgotten once it is rejected.
const ended = [];
const settle = async () => { for (let turn = 0; turn < 20; turn += 1) await new Promise(setImmediate); };
for (let twice = 0; twice < 2; twice += 1) {
  sources.at(-1).readyState = EventSource.CLOSED;
  sources.at(-1).onerror();
  const left = [...storage.values()];
  await settle();
  ended.push({ left, settled: [...storage.values()], streams: sources.length, url: sources.at(-1).url });
}
console.log(JSON.stringify({ requests, left: input.value, events, sending, sent, typing, drafts, shown, ended }));
