package main

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"time"
)

// healthcheck is for containers without a shell: the image's HEALTHCHECK.
type healthcheck struct{}

// Run asks /healthz on this machine.
func (healthcheck) Run(ctx context.Context) error {
	c, err := loadConfig()
	if err != nil {
		return err
	}
	host, port, err := net.SplitHostPort(c.Listen)
	if err != nil {
		return fmt.Errorf("read LISTEN: %w", err)
	}
	// Listening everywhere is no address to ask.
	switch host {
	case "", "0.0.0.0":
		host = "127.0.0.1"
	case "::":
		host = "::1"
	}
	ctx, cancel := context.WithTimeout(ctx, 3*time.Second)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+net.JoinHostPort(host, port)+"/healthz", nil)
	if err != nil {
		return fmt.Errorf("ask for health: %w", err)
	}
	// A proxy from the environment knows nothing about us.
	client := &http.Client{Transport: &http.Transport{Proxy: nil}}
	answer, err := client.Do(request)
	if err != nil {
		return fmt.Errorf("ask for health: %w", err)
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("ask for health: %s", answer.Status)
	}
	return nil
}
