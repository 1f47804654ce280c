/** Reads what a job prints, from the end on, a range of bytes at a time; knows nothing of how it is shown. */
import { ApiError, request } from "../api.js";

const TAIL_BYTES = 64 * 1024;

/** One stream of one attempt. */
export class LogReader {
  /** @param {string} path of the stream in the API @param {number} tailBytes how much of its end is read first */
  constructor(path, tailBytes = TAIL_BYTES) {
    this.path = path;
    this.tailBytes = tailBytes;
    this.first = null; // the place of the first byte that is shown
    this.next = 0; // the place after the last one
    this.restart();
  }

  restart() {
    this.decoder = new TextDecoder();
  }

  /**
   * What has come since the last call; at the first one, the end of what there is.
   * @param {AbortSignal} signal
   * @returns {Promise<string>}
   */
  async more(signal) {
    const range = this.first === null ? `bytes=-${this.tailBytes}` : `bytes=${this.next}-`;
    const found = await this.read(range, signal);
    if (!found) return "";
    const { start, data } = found;
    this.first ??= start;
    this.next = start + data.byteLength;
    return this.decoder.decode(data, { stream: true });
  }

  /** Everything that there is, from its first byte on. */
  async all(signal) {
    this.restart();
    this.first = 0;
    this.next = 0;
    return this.more(signal);
  }

  async read(range, signal) {
    try {
      const response = await request(this.path, { signal, headers: { Range: range } });
      const [, start] = /bytes (\d+)-/.exec(response.headers.get("Content-Range") ?? "") ?? [];
      return { start: Number(start ?? 0), data: await response.arrayBuffer() };
    } catch (error) {
      if (!(error instanceof ApiError) || (error.status !== 416 && error.status !== 404)) throw error;
      return null; // nothing (more) has been printed
    }
  }
}
