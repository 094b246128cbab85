// Command ciclo is the whole product in one binary: it serves pages, works the
// outbox, migrates its schema and shows itself off.
//
// It promises that every command explains itself with --help, that every
// setting is an environment variable named there with its default, and that a
// wrong one is named before anything starts. It refuses to start half-configured.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/alecthomas/kong"

	_ "time/tzdata" // the image has no zones of its own
)

// commands are what ciclo can be told to do, in the order an operator meets
// them. One file per family.
type commands struct {
	Demo        demoCommand     `cmd:"" help:"Show Ciclo on this machine, with an organisation to try it on."`
	Serve       serveCommand    `cmd:"" help:"Answer people, and work the outbox."`
	Work        workCommand     `cmd:"" help:"Work the outbox only."`
	Migrate     migrateCommands `cmd:"" help:"Bring the database's schema up to date, or take steps back."`
	Tenant      tenantCommands  `cmd:"" help:"Make organisations."`
	Person      personCommands  `cmd:"" help:"Make people, such as the first admin."`
	Import      importCommands  `cmd:"" help:"Bring in files."`
	Status      statusCommand   `cmd:"" help:"Say what the outbox owes; ends with 1 when somebody should look."`
	Config      configCommands  `cmd:"" help:"Check the settings without starting anything."`
	Healthcheck healthcheck     `cmd:"" help:"Ask the server on LISTEN whether it is alive; for containers."`
	Version     versionCommand  `cmd:"" help:"Say which build this is."`
}

func main() {
	// The second Ctrl-C is not caught: it ends us at once.
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop)
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

// run is main with its surroundings handed in. Wrong usage or settings end
// with 2, anything else that fails with 1.
func run(ctx context.Context, args []string, out, errs io.Writer) int {
	ended := -1
	parser, err := kong.New(&commands{},
		kong.Name("ciclo"),
		kong.Description("Ciclo runs performance-evaluation cycles. A change and the messages it owes are committed together, and every message is accounted for."),
		kong.Writers(out, errs),
		kong.Exit(func(code int) { ended = code }),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true, NoExpandSubcommands: false}),
		kong.Help(helpWithSettings),
		kong.Vars{"demo_data": demoFolder()},
		kong.BindTo(ctx, (*context.Context)(nil)),
		kong.BindTo(out, (*io.Writer)(nil)),
	)
	if err != nil {
		fmt.Fprintln(errs, "ciclo:", err)
		return 2
	}
	if len(args) == 0 {
		args = []string{"--help"}
	}
	command, err := parser.Parse(args)
	if ended >= 0 { // --help has answered
		return ended
	}
	if err != nil {
		fmt.Fprintf(errs, "ciclo: %s\nTry: ciclo --help\n", err)
		return 2
	}
	if err := command.Run(); err != nil {
		fmt.Fprintln(errs, "ciclo:", err)
		if wrong := (*settingsError)(nil); errors.As(err, &wrong) {
			return 2
		}
		return 1
	}
	return 0
}

// helpWithSettings adds the environment to every command's help.
func helpWithSettings(options kong.HelpOptions, ctx *kong.Context) error {
	if err := kong.DefaultHelpPrinter(options, ctx); err != nil {
		return err
	}
	fmt.Fprint(ctx.Stdout, "\nEnvironment (name, default, meaning):\n", settingsHelp())
	return nil
}
