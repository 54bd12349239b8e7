// What an AG-UI agent is made of, and what a run of it is given.
import type { AgentConfig, RunAgentParameters } from "@ag-ui/client";
import type { Listener, Options, SendOptions } from "./types.js";

export interface RejoinAgentConfig extends AgentConfig, Omit<Options, "seed"> {
  /** As of SendOptions. */
  readonly kind?: string;
  /** What becomes of a run that is under way when another message is sent. Default "reject". */
  readonly onActive?: NonNullable<SendOptions["onActive"]>;
  /** Whether abortRun stops the run, or only leaves it. Default true. */
  readonly stopOnAbort?: boolean;
  /** Is told whatever the connection of a run is: for a line that says "catching up", for instance. */
  readonly onChange?: Listener;
}

/** As of HttpAgent: aborting the controller is abortRun. */
export interface RejoinRunParameters extends RunAgentParameters {
  abortController?: AbortController;
}
