// Small things kept in the browser. Where storage is switched off they live as long as the page.

/** A JSON value under a name; `fallback` where there is none or it cannot be read. */
export class Stored {
  constructor(storage, name, fallback) {
    this.storage = storage;
    this.name = name;
    this.fallback = fallback;
    this.memory = null;
  }

  read() {
    if (this.memory !== null) {
      return this.memory;
    }
    try {
      return JSON.parse(this.storage.getItem(this.name)) ?? this.fallback;
    } catch {
      return this.fallback;
    }
  }

  write(value) {
    try {
      this.storage.setItem(this.name, JSON.stringify(value));
      this.memory = null;
    } catch {
      this.memory = value;
    }
  }

  clear() {
    this.memory = null;
    try {
      this.storage.removeItem(this.name);
    } catch {
      // Nothing was stored, so nothing is left.
    }
  }
}
