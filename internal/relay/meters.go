package relay

import (
	"context"
	"errors"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"ciclo/internal/outbox"
	"ciclo/store"
)

// meters are what operators watch. Labels come from small fixed sets: queue,
// type, status, outcome; never a tenant, a person or a cycle.
type meters struct {
	attempts metric.Int64Counter
	wait     metric.Float64Histogram
	fences   metric.Int64Counter
	reclaims metric.Int64Counter
	events   metric.Int64Gauge
	oldest   metric.Float64Gauge
}

func newMeters() (m meters, err error) {
	meter := otel.Meter("ciclo/internal/relay")
	var errs [6]error
	m.attempts, errs[0] = meter.Int64Counter("ciclo.outbox.attempts", metric.WithDescription("Attempts by outcome"))
	m.wait, errs[1] = meter.Float64Histogram("ciclo.outbox.wait", metric.WithUnit("s"),
		metric.WithDescription("From the commit that owed a message to its delivery"),
		metric.WithExplicitBucketBoundaries(1, 5, 15, 60, 300, 900, 3600, 14400, 86400))
	m.fences, errs[2] = meter.Int64Counter("ciclo.outbox.fenced", metric.WithDescription("Settles that came after their lease was lost"))
	m.reclaims, errs[3] = meter.Int64Counter("ciclo.outbox.reclaimed", metric.WithDescription("Leases taken back from lost workers"))
	m.events, errs[4] = meter.Int64Gauge("ciclo.outbox.events", metric.WithDescription("Events by queue and status, delivered ones left out"))
	m.oldest, errs[5] = meter.Float64Gauge("ciclo.outbox.oldest_due", metric.WithUnit("s"), metric.WithDescription("Age of the row that has been due longest"))
	return m, errors.Join(errs[:]...)
}

func of(e outbox.Event, more ...attribute.KeyValue) metric.MeasurementOption {
	return metric.WithAttributes(append(more, attribute.String("queue", e.Queue), attribute.String("type", e.Type))...)
}

func (m meters) attempt(ctx context.Context, e outbox.Event, outcome string) {
	m.attempts.Add(ctx, 1, of(e, attribute.String("outcome", outcome)))
}

func (m meters) waited(ctx context.Context, e outbox.Event) {
	m.wait.Record(ctx, time.Since(e.CreatedAt).Seconds(), of(e))
}

func (m meters) fenced(ctx context.Context, e outbox.Event) { m.fences.Add(ctx, 1, of(e)) }

func (m meters) reclaimed(ctx context.Context, n int) { m.reclaims.Add(ctx, int64(n)) }

func (m meters) standing(ctx context.Context, standing []store.Standing) {
	for _, s := range standing {
		m.events.Record(ctx, int64(s.Events), metric.WithAttributes(attribute.String("queue", s.Queue), attribute.String("status", string(s.Status))))
		if s.Status == outbox.Pending {
			m.oldest.Record(ctx, s.OldestDue.Seconds(), metric.WithAttributes(attribute.String("queue", s.Queue)))
		}
	}
}
