export { connect, type Connection } from "./connection.js";
export { RejoinError } from "./types.js";
export type {
  Attach, Change, End, Event, Input, Listener, Metric, OpenOptions, Options, Reason, SendOptions, Sent, State, Status, Token, Turn,
} from "./types.js";
