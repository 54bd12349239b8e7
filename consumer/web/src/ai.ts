// A transport for useChat, and whatever else takes a ChatTransport of the AI SDK, whose answers survive reloads, cut networks and
// restarts of the relay.

import type { ChatRequestOptions, ChatTransport, UIMessage, UIMessageChunk } from "ai";
import { inputOf, responses } from "./ai-input.js";
import { watch } from "./ai-watch.js";
import type { Watch } from "./ai-watch.js";
import { connect, type Connection } from "./connection.js";
import { aborted, attach, notShown, sendTurn, stopRun } from "./turn.js";
import { RejoinError } from "./types.js";
import type { Listener, Options, SendOptions } from "./types.js";

export { RejoinError } from "./types.js";

export interface RejoinTransportOptions extends Omit<Options, "seed"> {
  /** As of SendOptions; a regenerated answer is a "retry", a message that is sent anew an "edit". */
  readonly kind?: string;
  /** What becomes of a run that is under way when another message is sent. Default "supersede": the client has left it. */
  readonly onActive?: NonNullable<SendOptions["onActive"]>;
  /** Whether aborting, as useChat's stop does, also when it unmounts, stops the run. Default false: it only leaves. */
  readonly stopOnAbort?: boolean;
  /**
   * Whether a stream is finished while its run waits for approvals, and goes on with the message that has the answers: what useChat needs for
   * addToolApprovalResponse. Default true. With false it stays open, and approvals are answered with `answer`.
   */
  readonly pauseForApprovals?: boolean;
  /** Is told whatever the connection of a run is: for a line that says "catching up", for instance. */
  readonly onChange?: Listener;
}

type SendMessages<M extends UIMessage> = Parameters<ChatTransport<M>["sendMessages"]>[0];
type Asks = Pick<ChatRequestOptions, "headers"> & { readonly chatId: string; readonly abortSignal?: AbortSignal | undefined };
type Reconnect = Parameters<ChatTransport<UIMessage>["reconnectToStream"]>[0];

export class RejoinTransport<M extends UIMessage = UIMessage> implements ChatTransport<M> {
  /** What reconnectToStream returns begins with the answer's beginning. */
  readonly resumeStreamIsReplay = true;
  private readonly all = new Set<Watch>();
  private readonly watched = new Map<string, Watch>(); // by chat, the newest one of each
  private readonly resuming = new Map<string, number>(); // by chat, how many look for its run

  constructor(private readonly options: RejoinTransportOptions = {}) {}

  /** Sends the newest message as a turn, once, or the answers to the approvals that the chat's run waits for. */
  async sendMessages(request: SendMessages<M>): Promise<ReadableStream<UIMessageChunk>> {
    const { chatId, messages, messageId, abortSignal: signal } = request;
    const last = messages.at(-1);
    const answered = (messageId !== undefined && messages.find(({ id }) => id === messageId)) || last;
    if (request.trigger === "submit-message" && answered && responses(answered).length > 0) return this.goOn(request, answered);

    const connection = this.connect(request);
    const abort = (): void => connection.close();
    signal?.addEventListener("abort", abort);
    try {
      const { body, trigger } = request;
      const input = inputOf(chatId, messages, { ...body, trigger, ...(messageId !== undefined && { messageId }) });
      const runId = await sendTurn(connection, chatId, input, this.manners(request), () => !signal?.aborted);
      return this.stream(chatId, connection, runId, last?.role === "assistant" ? last.id : runId, signal);
    } catch (error) {
      connection.close();
      throw error;
    } finally {
      signal?.removeEventListener("abort", abort);
    }
  }

  /** The chat's run that is under way, from its beginning; null where there is none. */
  async reconnectToStream(request: Reconnect): Promise<ReadableStream<UIMessageChunk> | null> {
    const { chatId, abortSignal: signal } = request;
    const shown = await this.find(request);
    if (!shown) return null;
    return this.stream(chatId, shown.connection, shown.runId, shown.runId, signal);
  }

  /** Stops the chat's run that is watched. */
  async stop(chatId: string): Promise<void> {
    const it = this.watched.get(chatId);
    if (it) await stopRun(it.connection, it.runId);
  }

  /**
   * Answers a question of the chat's run, a form or an interrupt for instance. Returns the id of the run that goes on, where the answer starts one:
   * useChat's resumeStream shows it. A run that is watched no more is named. Throws as Connection.answer does.
   */
  async answer(chatId: string, requestId: string, outcome: Readonly<Record<string, unknown>>, runId?: string): Promise<string | null> {
    const it = this.watched.get(chatId);
    if (it && (runId === undefined || it.runId === runId)) return it.connection.answer(requestId, outcome);
    const connection = this.connect({});
    try {
      const shown = await attach(connection, chatId, runId);
      if (shown === null || (runId !== undefined && shown !== runId)) throw notShown();
      return await connection.answer(requestId, outcome);
    } finally {
      connection.close();
    }
  }

  /** Leaves all runs; they go on. */
  close(): void {
    for (const it of [...this.all]) it.leave();
  }

  /** Makes the connection for one run. Tests and wrappers may override it. */
  protected connection(options: Options): Connection {
    return connect(options);
  }

  private connect({ headers }: Pick<ChatRequestOptions, "headers">): Connection {
    const more = headers ? Object.fromEntries(new Headers(headers)) : {};
    const connection = this.connection({ ...this.options, headers: { ...this.options.headers, ...more }, seed: null });
    if (this.options.onChange) connection.subscribe(this.options.onChange);
    return connection;
  }

  private async find(request: Asks): Promise<{ readonly connection: Connection; readonly runId: string } | null> {
    const { chatId } = request;
    const connection = this.connect(request);
    const abort = (): void => connection.close();
    request.abortSignal?.addEventListener("abort", abort);
    this.resuming.set(chatId, (this.resuming.get(chatId) ?? 0) + 1);
    try {
      const runId = request.abortSignal?.aborted ? null : await attach(connection, chatId);
      if (request.abortSignal?.aborted) throw aborted();
      if (runId === null) connection.close();
      return runId === null ? null : { connection, runId };
    } catch (error) {
      connection.close();
      throw request.abortSignal?.aborted ? aborted() : error;
    } finally {
      request.abortSignal?.removeEventListener("abort", abort);
      this.resuming.set(chatId, (this.resuming.get(chatId) ?? 1) - 1);
    }
  }

  /** Answers the approvals of a message that the chat's run waits for, and goes on with that message. */
  private async goOn(request: SendMessages<M>, message: M): Promise<ReadableStream<UIMessageChunk>> {
    const { chatId, abortSignal: signal } = request;
    const said = responses(message);
    let it = this.watched.get(chatId);
    const waits = (at: Watch | undefined): boolean => said.some(({ id }) => at?.approvals().includes(id));
    if (!it?.idle() && !waits(it)) {
      const shown = await this.find(request);
      it = shown ? this.show(chatId, shown.connection, shown.runId, message.id, true) : undefined;
      await it?.caughtUp();
      if (!it || !waits(it)) {
        it?.leave();
        throw new RejoinError("not_found", "no run waits for these approvals");
      }
    }
    const shown = it as Watch;
    const outcomes = said.map(({ id, approved }) => ({ id, outcome: shown.outcome(id, approved) }));
    const stream = shown.stream(message.id);
    this.leaveOn(signal, chatId, shown);
    try {
      for (const { id, outcome } of outcomes) {
        if (outcome) await this.say(shown.connection, id, outcome);
      }
    } catch (error) {
      shown.leave();
      throw error;
    }
    return stream as ReadableStream<UIMessageChunk>;
  }

  /** Answers; that it has been answered, or closed, in another place is told by the run itself. */
  private async say(connection: Connection, id: string, outcome: Readonly<Record<string, unknown>>): Promise<void> {
    try {
      await connection.answer(id, outcome);
    } catch (error) {
      if (!(error instanceof RejoinError) || (error.code !== "already_answered" && error.code !== "not_found")) throw error;
    }
  }

  private manners({ trigger, messageId, messages }: SendMessages<M>): SendOptions {
    const last = messages.at(-1);
    const edits = last?.role === "user" && messageId === last.id;
    const kind = trigger === "regenerate-message" ? "retry" : edits ? "edit" : this.options.kind;
    return { clientToken: crypto.randomUUID(), onActive: this.options.onActive ?? "supersede", ...(kind && { kind }) };
  }

  private stream(chatId: string, connection: Connection, runId: string, messageId: string, signal: AbortSignal | undefined): ReadableStream<UIMessageChunk> {
    const it = this.show(chatId, connection, runId, messageId, false);
    const stream = it.stream();
    this.leaveOn(signal, chatId, it);
    return stream as ReadableStream<UIMessageChunk>;
  }

  private show(chatId: string, connection: Connection, runId: string, messageId: string, skips: boolean): Watch {
    const before = this.watched.get(chatId);
    if (before?.idle()) before.leave(); // it waited for answers, and this one takes its place
    const it: Watch = watch(connection, runId, {
      messageId, skips, pauses: this.options.pauseForApprovals ?? true,
      over: () => {
        this.all.delete(it);
        if (this.watched.get(chatId) === it) this.watched.delete(chatId);
      },
    });
    this.all.add(it);
    this.watched.set(chatId, it);
    return it;
  }

  private leaveOn(signal: AbortSignal | undefined, chatId: string, it: Watch): void {
    const leave = (): void => {
      if (it.idle()) return; // aborted after its stream was finished
      if (!this.options.stopOnAbort) {
        it.leave();
        return;
      }
      it.abort();
      // Another stream of the chat in the same moment is a resume that takes this one's place, and not a stop.
      setTimeout(() => {
        if (this.watched.get(chatId) !== it || this.resuming.get(chatId)) it.leave();
        else stopRun(it.connection, it.runId).catch(() => {}).finally(() => it.leave());
      }, 0);
    };
    if (signal?.aborted) leave();
    else signal?.addEventListener("abort", leave, { once: true });
  }
}
