// Package telemetry sets up OpenTelemetry and takes it down again.
//
// Traces and metrics go out as OTLP over HTTP when an endpoint is set, and
// nowhere otherwise. Exporting happens in batches beside the work: a dead
// collector never slows a request, it only loses what it did not take. Who acts
// is on every span of a request (user, roles, organisation: numbers and role
// names), never an address, a name or a capability path.
package telemetry

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"go.opentelemetry.io/contrib/instrumentation/net/http/otelhttp"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetrichttp"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

// Start installs the global providers and returns what flushes and stops them.
// With an empty endpoint nothing is installed. The standard OTEL_ variables
// apply beside the endpoint.
func Start(ctx context.Context, endpoint, version string) (stop func(context.Context) error, err error) {
	otel.SetTextMapPropagator(propagation.TraceContext{})
	if endpoint == "" {
		return func(context.Context) error { return nil }, nil
	}
	res, err := resource.New(ctx, resource.WithAttributes(attribute.String("service.name", "ciclo"), attribute.String("service.version", version)),
		resource.WithFromEnv())
	if err != nil {
		return nil, fmt.Errorf("describe this process: %w", err)
	}
	spans, err := otlptracehttp.New(ctx) // reads OTEL_EXPORTER_OTLP_ENDPOINT itself, path rules included
	if err != nil {
		return nil, fmt.Errorf("trace exporter: %w", err)
	}
	numbers, err := otlpmetrichttp.New(ctx)
	if err != nil {
		return nil, fmt.Errorf("metric exporter: %w", err)
	}
	tracer := sdktrace.NewTracerProvider(sdktrace.WithResource(res), sdktrace.WithSpanProcessor(actorOnChildren{}), sdktrace.WithBatcher(spans))
	meter := metric.NewMeterProvider(metric.WithResource(res), metric.WithReader(metric.NewPeriodicReader(numbers, metric.WithInterval(15*time.Second))))
	otel.SetTracerProvider(tracer)
	otel.SetMeterProvider(meter)
	// a collector that is away is a warning now and then, not an error on stderr
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) { slog.Debug("telemetry not exported", "error", err) }))
	return func(ctx context.Context) error { return errors.Join(tracer.Shutdown(ctx), meter.Shutdown(ctx)) }, nil
}

// Server starts the server's span. Until a pattern has matched it is named by
// its method alone, and it never holds a path: that may be a capability.
func Server(next http.Handler) http.Handler {
	return otelhttp.NewHandler(next, "", otelhttp.WithSpanNameFormatter(func(_ string, r *http.Request) string { return r.Method }))
}

// actorAttributes are copied from the server's span to the spans below it.
var actorAttributes = map[attribute.Key]bool{"user.id": true, "user.roles": true, "tenant.id": true}

// pathAttributes could hold a review link's token and leave with no span.
var pathAttributes = map[attribute.Key]bool{"url.path": true, "url.full": true, "url.query": true, "http.target": true, "http.url": true}

// actorOnChildren copies who acts to each span that begins below one that says
// so, and blanks raw paths.
type actorOnChildren struct{}

func (actorOnChildren) OnStart(ctx context.Context, span sdktrace.ReadWriteSpan) {
	for _, a := range span.Attributes() {
		if pathAttributes[a.Key] {
			span.SetAttributes(a.Key.String(""))
		}
	}
	parent, ok := trace.SpanFromContext(ctx).(sdktrace.ReadOnlySpan)
	if !ok {
		return
	}
	for _, a := range parent.Attributes() {
		if actorAttributes[a.Key] {
			span.SetAttributes(a)
		}
	}
}

func (actorOnChildren) OnEnd(sdktrace.ReadOnlySpan)      {}
func (actorOnChildren) Shutdown(context.Context) error   { return nil }
func (actorOnChildren) ForceFlush(context.Context) error { return nil }
