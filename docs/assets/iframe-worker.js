/* Browsers start no workers for pages that are opened from a folder. There the script of a worker,
   the search of this site, runs in a hidden frame instead. */
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(url) {
      super();
      const frame = document.createElement("iframe");
      frame.hidden = true;
      document.body.appendChild(frame);
      this.frame = frame;
      this.ready = new Promise((resolve) => {
        const inside = frame.contentWindow;
        inside.document.open();
        inside.document.write(
          `<html><body><script>
            postMessage = (data) => parent.postMessage(data, "*");
            importScripts = (...urls) => urls.reduce((before, url) => before.then(() =>
              new Promise((resolve) => {
                const script = document.createElement("script");
                script.src = url;
                script.onload = resolve;
                document.body.appendChild(script);
              })), Promise.resolve());
          <\/script><script src="${new URL(url, location)}"><\/script></body></html>`,
        );
        inside.document.close();
        frame.onload = resolve;
      });
      window.addEventListener("message", (event) => {
        if (event.source !== frame.contentWindow) return;
        const told = new MessageEvent("message", { data: event.data });
        this.dispatchEvent(told);
        if (this.onmessage) this.onmessage(told);
      });
    }

    postMessage(data) {
      const told = new MessageEvent("message", { data });
      this.ready.then(() => this.frame.contentWindow.dispatchEvent(told));
    }

    terminate() {
      this.frame.remove();
    }
  };
}
