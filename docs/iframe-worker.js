// Search in pages that were opened from disk. Browsers start no worker from file:, so the theme's search runs its worker's script
// in a hidden frame if the page has a class IFrameWorker. The theme would fetch one from a server; this one does the same.
class IFrameWorker extends EventTarget {
  constructor(url) {
    super();
    const frame = document.createElement("iframe");
    frame.hidden = true;
    document.body.appendChild(frame);
    const inner = frame.contentWindow;
    const load = (address) =>
      new Promise((resolve, reject) => {
        const script = inner.document.createElement("script");
        script.onload = resolve;
        script.onerror = () => reject(new Error(`${address} was not loaded`));
        script.src = address;
        inner.document.body.appendChild(script);
      });
    inner.importScripts = (...addresses) =>
      addresses.reduce((before, address) => before.then(() => load(address)), Promise.resolve());
    // What the worker says goes to the page, which hears it here.
    inner.postMessage = (data) => this.dispatchEvent(new MessageEvent("message", { data }));
    this.addEventListener("message", (event) => this.onmessage?.(event));
    this.frame = frame;
    this.ready = load(new URL(url, document.baseURI).href);
  }

  postMessage(data) {
    this.ready.then(() => this.frame.contentWindow.dispatchEvent(new MessageEvent("message", { data })));
  }

  terminate() {
    this.frame.remove();
  }
}

if (location.protocol === "file:") {
  window.IFrameWorker = IFrameWorker;
  window.Worker = IFrameWorker;
}
