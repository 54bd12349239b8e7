package worker_test

import (
	"context"
	"fmt"
	"log"
	"log/slog"
	"os"
	"os/signal"

	"github.com/nats-io/nats.go"

	"github.com/rejoin/rejoin/producer/agent"
	"github.com/rejoin/rejoin/producer/worker"
)

// An agent of one's own: it greets whoever writes to any chat. What is sent to a relay's
// /chat/send is answered by this program, saved in the built-in history, and can be
// watched at any relay, stopped and resumed. All workers of a fabric share its turns, so
// no other agent should answer there: rejoin dev --agent none --nats-addr 127.0.0.1:4222.
func Example() {
	greet := agent.Func(func(ctx context.Context, t agent.Turn) error {
		event := fmt.Appendf(nil, `{"type":"TEXT_MESSAGE_CHUNK","messageId":%q,"role":"assistant","delta":%q}`,
			t.Request().TurnID, "Hello from "+t.Request().ChatID)
		return t.Publish(ctx, event)
	})

	nc, err := nats.Connect("nats://127.0.0.1:4222", nats.MaxReconnects(-1), nats.ReconnectBufSize(-1))
	if err != nil {
		log.Fatal(err)
	}
	defer nc.Close()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	w, err := worker.Connect(ctx, nc, greet, worker.Options{Logger: slog.Default()})
	if err != nil {
		log.Fatal(err)
	}
	if err := w.Run(ctx); err != nil {
		log.Fatal(err)
	}
}

// An agent that asks before it acts. The question survives reloads and restarts of
// relays, and is answered once, whoever answers first.
func Example_asking() {
	_ = agent.Func(func(ctx context.Context, t agent.Turn) error {
		answer, err := t.Ask(ctx, agent.Question{
			Name:    "shop.permission",
			Value:   map[string]any{"title": "Order 20 crates of lemons?"},
			Options: []string{"yes", "no"},
		})
		if err != nil {
			return err // the turn is to stop
		}
		fmt.Println(answer.Status, string(answer.Outcome))
		return nil
	})
}
