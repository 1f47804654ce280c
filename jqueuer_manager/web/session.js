/** Who is logged in: the session is in a cookie that scripts cannot read, so the manager is asked. */
import { get, send } from "./api.js";

/** Who everybody is where no token is needed. */
export const ANYBODY = "anybody";

/** Who this is, or null. @returns {Promise<{name: string, role: string, token: object | null} | null>} */
export async function whoAmI() {
  try {
    return await get("/me", { expectLogin: true });
  } catch (error) {
    if (error.status === 401) return null;
    throw error;
  }
}

/** Log in by a token. */
export function logIn(token) {
  return send("POST", "/session", { token }, { expectLogin: true });
}

/** End the session; the token stays valid. */
export function logOut() {
  return send("DELETE", "/session", undefined, { expectLogin: true });
}
