// Browsers refuse workers to pages that are opened as files. Search runs in a hidden frame there.
if (location.protocol === "file:") {
  window.Worker = class {
    constructor(url) {
      this.frame = document.createElement("iframe");
      this.frame.hidden = true;
      document.body.append(this.frame);
      const inner = this.frame.contentWindow;
      inner.postMessage = (data) => this.onmessage?.({ data });
      const script = inner.document.createElement("script");
      script.src = url;
      this.loaded = new Promise((resolve, reject) => {
        script.onload = () => resolve(inner);
        script.onerror = reject;
      });
      this.loaded.catch((error) => this.onerror?.(error));
      inner.document.body.append(script);
    }

    postMessage(data) {
      this.loaded.then((inner) => inner.onmessage({ data }), () => {});
    }

    terminate() {
      this.frame.remove();
    }
  };
}
