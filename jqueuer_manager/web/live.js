/** Data that stays true: server-sent events while they can be had, else questions every few seconds. */
import { get, now } from "./api.js";
import { takeRoom } from "./stream-room.js";
import { useEffect, useRef, useState } from "./ui.js";

const POLL_SECONDS = 5;
const RETRY_SECONDS = 30;

/**
 * Follow a stream of the manager; hidden pages let go of it, and what is over is only looked at now and then.
 * @param {string} stream the path of the events
 * @param {string} event the name of the event
 * @param {string} path where the same is asked for without a stream
 * @param {(data: any) => boolean} isOver whether nothing more is to be expected
 * @returns {{data: any, how: "waiting" | "live" | "asking" | "lost", error: Error | null, refresh: () => void}}
 */
export function useLive(stream, event, path, isOver = never) {
  const [state, setState] = useState({ data: null, how: "waiting", error: null });
  const follower = useRef(null);
  useEffect(() => {
    setState({ data: null, how: "waiting", error: null });
    const tell = (change) => setState((old) => ({ ...old, ...change }));
    follower.current = new Follower({ stream, event, path, isOver, tell });
    return () => follower.current.close();
  }, [stream, event, path]);
  return { ...state, refresh: () => follower.current?.ask() };
}

function never() {
  return false;
}

class Follower {
  constructor({ stream, event, path, isOver, tell }) {
    Object.assign(this, { stream, event, path, isOver, tell, closed: false, told: 0 });
    this.visibility = () => (document.hidden ? this.rest() : this.begin());
    document.addEventListener("visibilitychange", this.visibility);
    this.begin();
  }

  /** Ask, since the first answer shall not wait for the stream, and then listen. */
  begin() {
    this.ask();
    if (!document.hidden) this.listen();
  }

  async listen() {
    this.rest();
    const turn = (this.turn = {});
    const leave = await takeRoom();
    if (this.turn !== turn) {
      leave?.(); // meanwhile the page was left, or hidden
    } else if (leave) {
      this.leave = leave;
      this.connect();
    } else {
      this.keepAsking(POLL_SECONDS);
      this.retry = setTimeout(() => this.listen(), RETRY_SECONDS * 1000);
    }
  }

  connect() {
    this.source = new EventSource(`/api/v1${this.stream}`);
    this.source.addEventListener(this.event, (message) => {
      this.told += 1;
      this.take(JSON.parse(message.data), "live");
    });
    this.source.onopen = () => {
      this.stopAsking();
      this.tell({ how: "live", error: null });
    };
    this.source.onerror = () => {
      this.keepAsking(POLL_SECONDS);
      if (this.source?.readyState === EventSource.CLOSED) this.retry ??= setTimeout(() => this.listen(), RETRY_SECONDS * 1000);
    };
  }

  take(data, how) {
    this.tell({ data, error: null, how });
    if (this.isOver(data)) {
      this.rest();
      this.keepAsking(RETRY_SECONDS);
    } else if (!this.turn && !document.hidden) {
      this.listen(); // it goes on again
    }
  }

  rest() {
    this.turn = null;
    this.source?.close();
    this.source = null;
    this.leave?.();
    this.leave = null;
    clearTimeout(this.retry);
    this.retry = null;
    this.stopAsking();
  }

  keepAsking(seconds) {
    if (this.asking) return;
    this.asking = setInterval(() => this.ask(), seconds * 1000);
    if (seconds === POLL_SECONDS) {
      this.tell({ how: "asking" });
      this.ask();
    }
  }

  stopAsking() {
    clearInterval(this.asking);
    this.asking = null;
  }

  async ask() {
    const told = this.told;
    try {
      const data = await get(this.path);
      if (this.closed || told !== this.told) return; // the stream was faster, and knows better
      const live = this.source?.readyState === EventSource.OPEN;
      this.take(data, this.asking ? "asking" : live ? "live" : "waiting");
    } catch (error) {
      if (!this.closed) this.tell({ error, ...(this.asking ? { how: "lost" } : {}) });
    }
  }

  close() {
    this.closed = true;
    this.rest();
    document.removeEventListener("visibilitychange", this.visibility);
  }
}

/**
 * Ask for something now, whenever `path` or `version` changes, and every so many seconds while the page is looked at.
 * @param {string | null} path null asks for nothing
 * @param {number | null} seconds null asks once
 * @param {unknown} version asks anew when it changes; what was there stays until the answer comes
 * @param {(path: string, options: {signal: AbortSignal}) => Promise<any>} ask how
 * @returns {{data: any, error: Error | null}}
 */
export function useAsked(path, seconds = null, version = null, ask = get) {
  const [state, setState] = useState({ data: null, error: null });
  useEffect(() => {
    if (path === null) return undefined;
    const stop = new AbortController();
    const look = async () => {
      try {
        const data = await ask(path, { signal: stop.signal });
        setState({ data, error: null });
      } catch (error) {
        if (error.name !== "AbortError") setState((old) => ({ ...old, error }));
      }
    };
    look();
    const timer = seconds === null ? null : setInterval(() => document.hidden || look(), seconds * 1000);
    return () => {
      clearInterval(timer);
      stop.abort();
    };
  }, [path, seconds, version]);
  return state;
}

/** The manager's time in seconds, told every second while there is something to count down. */
export function useNow(running = true) {
  const [time, setTime] = useState(now);
  useEffect(() => {
    if (!running) return undefined;
    const timer = setInterval(() => setTime(now()), 1000);
    return () => clearInterval(timer);
  }, [running]);
  return time;
}
