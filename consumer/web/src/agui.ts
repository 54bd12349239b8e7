// An AG-UI agent whose runs survive reloads, cut networks and restarts of the relay.
import { AbstractAgent, type AgentSubscriber, type BaseEvent, type RunAgentInput, type RunAgentResult } from "@ag-ui/client";
import { Observable, type Subscriber } from "rxjs";
import type { RejoinAgentConfig, RejoinRunParameters } from "./agui-config.js";
import { type Before, rewound } from "./agui-rewind.js";
import { isInterrupt, terminal } from "./agui-terminal.js";
import { connect, type Connection } from "./connection.js";
import { follow } from "./follow.js";
import { aborted, attach, notShown, sendTurn, stopRun } from "./turn.js";
import type { End, Event, Options } from "./types.js";

export { RejoinError } from "./types.js";
export type { End } from "./types.js";
export type { RejoinAgentConfig, RejoinRunParameters } from "./agui-config.js";

// A package may bring an rxjs of its own, whose types are not those of this one.
type Events = ReturnType<AbstractAgent["run"]>;

/** How long a run may take to end after it was told to stop, before it is left to itself. */
const stopPatience = 5_000;

/** The run that is being watched. */
interface Watch {
  readonly connection: Connection;
  /** Settles once the run is known. */
  readonly found: Promise<string | null>;
  /** Ends it as aborted; the run goes on. */
  leave(): void;
  aborted: boolean;
  timer?: ReturnType<typeof setTimeout>;
}

/**
 * A drop-in for HttpAgent. `threadId` is the chat. What becomes of a run is told by RUN_FINISHED or RUN_ERROR, once the
 * run is over and saved; that it could not be sent or watched is an error, a RejoinError with a code.
 */
export class RejoinAgent extends AbstractAgent {
  /** Used from the next request on. */
  url: string;
  headers: Record<string, string>;
  private config: RejoinAgentConfig;
  private shown: Connection | null = null;
  private watch: Watch | null = null;
  private before: Before | null = null;
  private attached: Connection | null = null;
  private shownRun: string | null = null;
  private ended: End | null = null;

  constructor(config: RejoinAgentConfig = {}) {
    super(config);
    this.config = config;
    this.url = config.url ?? "";
    this.headers = { ...config.headers };
  }

  /** The run that is watched or was watched last, by the relay's id. */
  get runId(): string | null {
    return this.shownRun;
  }

  /** How that run ended. With persisted false its answer is not saved by the producer. */
  get end(): End | null {
    return this.ended;
  }

  override runAgent(parameters?: RejoinRunParameters, subscriber?: AgentSubscriber): Promise<RunAgentResult> {
    const { abortController, ...rest } = parameters ?? {};
    return this.abortedBy(abortController, () => super.runAgent(rest, subscriber));
  }

  /** Sends the input once, however often the Observable is subscribed to, and yields the events of its run. */
  override run(input: RunAgentInput): Events {
    const { kind, onActive } = this.config;
    const options = { clientToken: crypto.randomUUID(), ...(kind && { kind }), ...(onActive && { onActive }) };
    const before = { messages: [...this.messages], state: this.state };
    return events((out) => {
      const connection = this.begin();
      return this.show(connection, out, async (wanted) => {
        const runId = await sendTurn(connection, input.threadId, { ...input }, options, wanted);
        this.before = { runId, ...before };
        return runId;
      });
    });
  }

  /**
   * Attaches to the chat's run that is under way, after a reload for instance, and sends nothing. Resolves without any event
   * where there is none. What messages hold of that run already is taken out first, and comes again.
   */
  override async connectAgent(parameters?: RejoinRunParameters, subscriber?: AgentSubscriber): Promise<RunAgentResult> {
    const { abortController, ...rest } = parameters ?? {};
    await this.detachActiveRun();
    const connection = this.begin();
    try {
      if ((await attach(connection, this.threadId)) !== null) this.rewind(connection);
      this.attached = connection;
      return await this.abortedBy(abortController, () => super.connectAgent(rest, subscriber));
    } catch (error) {
      if (this.shown !== connection) return { result: undefined, newMessages: [] }; // another one has taken its place
      this.put(connection);
      throw error;
    } finally {
      if (this.attached === connection) this.attached = null;
    }
  }

  protected override connect(input: RunAgentInput): Events {
    return events((out) => {
      const connection = this.attached ?? this.begin();
      const attached = this.attached !== null;
      return this.show(connection, out, async () => (attached ? connection.state.runId : attach(connection, input.threadId)));
    });
  }

  /**
   * Stops the run, and goes on to its end; where that takes too long, or with stopOnAbort false, it is only left. To leave
   * a run without stopping it there is also detachActiveRun.
   */
  override abortRun(): void {
    const watch = this.watch;
    if (!watch || watch.aborted) return;
    watch.aborted = true;
    if (this.config.stopOnAbort === false) {
      watch.leave();
      return;
    }
    const stop = async (): Promise<void> => {
      const runId = await watch.found;
      if (runId !== null) await stopRun(watch.connection, runId);
    };
    stop().catch(() => watch.leave());
    watch.timer = setTimeout(() => watch.leave(), stopPatience);
  }

  /**
   * Answers a question of the run that is watched or was watched last, or, after a reload, of the one that is named. Returns
   * the id of the run that goes on, where the answer starts one: connectAgent shows it. Throws as Connection.answer does.
   */
  async answer(requestId: string, outcome: Readonly<Record<string, unknown>>, runId?: string): Promise<string | null> {
    const named = runId ?? this.shownRun;
    if (named === null) throw notShown();
    let connection = this.shown;
    if (connection?.state.runId !== named) {
      connection = this.begin();
      if ((await attach(connection, this.threadId, named)) !== named) throw notShown();
      this.shownRun = named;
    }
    const next = await connection.answer(requestId, outcome);
    this.pendingInterrupts = this.pendingInterrupts.filter((interrupt) => interrupt.id !== requestId);
    return next;
  }

  override clone(): RejoinAgent {
    const cloned = super.clone() as RejoinAgent;
    cloned.config = this.config;
    cloned.url = this.url;
    cloned.headers = { ...this.headers };
    cloned.shown = cloned.watch = cloned.before = cloned.attached = cloned.shownRun = cloned.ended = null;
    return cloned;
  }

  /** Makes the connection for one run. Tests and wrappers may override it. */
  protected connection(options: Options): Connection {
    return connect(options);
  }

  private begin(): Connection {
    this.watch?.leave();
    this.shown?.close();
    const connection = this.connection({ ...this.config, url: this.url, headers: this.headers, seed: null });
    if (this.config.onChange) connection.subscribe(this.config.onChange);
    this.ended = this.shownRun = null;
    this.shown = connection;
    return connection;
  }

  /** Tells out of the run that `find` finds, or of nothing where it finds none. */
  private show(connection: Connection, out: Subscriber<BaseEvent>, find: (wanted: () => boolean) => Promise<string | null>): () => void {
    let unfollow = (): void => {};
    let asks = false;
    const last = terminal((event: Event) => {
      asks = isInterrupt(event);
      out.next(event as unknown as BaseEvent);
    });
    const found = find(() => !watch.aborted);
    const watch: Watch = { connection, found, aborted: false, leave: () => out.error(aborted()) };
    this.watch = watch;
    const settled = found.then((runId) => {
      if (this.shown === connection) this.shownRun = runId;
      if (out.closed) return;
      if (runId === null) {
        out.complete();
        return;
      }
      unfollow = follow(connection, runId, {
        event: last.event,
        end: (end) => {
          if (this.shown === connection) this.ended = end;
          if (watch.aborted && end.reason === "stopped" && !last.said) {
            watch.leave();
            return;
          }
          last.end(end);
          out.complete();
        },
        fail: (error) => out.error(error),
      });
      if (out.closed) unfollow();
    }).catch((error: unknown) => out.error(error));
    return () => {
      unfollow();
      clearTimeout(watch.timer);
      if (this.watch === watch) this.watch = null;
      // What is being sent is sent; and a run that has ended to ask is to be answered.
      void settled.then(() => {
        if (!asks || this.shown !== connection) this.put(connection);
      });
    };
  }

  private put(connection: Connection): void {
    connection.close();
    if (this.shown === connection) this.shown = null;
  }

  /** Takes out of messages and state what the connection's run has made of them, for it is told from its beginning. */
  private rewind(connection: Connection): void {
    const { runId, events } = connection.state;
    if (!this.before || this.before.runId !== runId) {
      this.before = { runId: runId ?? "", messages: [...this.messages], state: this.state };
      return;
    }
    this.messages = rewound(this.before.messages, this.messages, events);
    this.state = this.before.state;
  }

  private async abortedBy<T>(controller: AbortController | undefined, run: () => Promise<T>): Promise<T> {
    const abort = (): void => this.abortRun();
    controller?.signal.addEventListener("abort", abort);
    try {
      return await run();
    } finally {
      controller?.signal.removeEventListener("abort", abort);
    }
  }
}

function events(subscribe: (out: Subscriber<BaseEvent>) => () => void): Events {
  return new Observable<BaseEvent>(subscribe) as unknown as Events;
}
