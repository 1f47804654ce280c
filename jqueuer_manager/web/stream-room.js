/**
 * Room for a stream: over HTTP/1.1 browsers keep six connections to a manager, for all windows together, and a stream
 * holds one for as long as it lasts. So only a few of them are open at once; the other windows ask every few seconds.
 */
const STREAMS = 3;

/**
 * Take one of the places.
 * @returns {Promise<(() => void) | null>} what gives it back; null where all are taken
 */
export async function takeRoom() {
  if (!navigator.locks) return () => {}; // only pages from HTTPS or this machine can count windows
  for (let place = 0; place < STREAMS; place += 1) {
    const leave = await held(`jqueuer-stream-${place}`);
    if (leave) return leave;
  }
  return null;
}

function held(name) {
  return new Promise((tell) => {
    navigator.locks.request(name, { ifAvailable: true }, (lock) => {
      if (!lock) return tell(null);
      return new Promise((leave) => tell(leave)); // kept until this is settled, or the window closes
    });
  });
}
