// Command beckon runs the hub and talks to it.
//
// Each command has a file of its own. A command reads flags, calls the hub's
// packages and prints: the result alone on standard output, everything said to
// a person on standard error. It returns an error, and [run] turns that into
// one message and an exit code, the only place that does.
//
// Exit codes: 0 answered or completed, 1 internal, 2 usage or config,
// 3 declined or dismissed, 4 expired (the value is printed when the default was
// applied), 5 cancelled, 6 still open, 7 refused by the hub, 8 no hub reached.
//
// The first interrupt or SIGTERM stops a command cleanly; a second one ends the
// process at once.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"

	"beckon/templates"

	"github.com/alecthomas/kong"
)

func main() {
	sh := &shell{in: os.Stdin, out: os.Stdout, err: os.Stderr, term: isTerminal(os.Stderr)}
	if isTerminal(os.Stdout) {
		sh.columns = terminalWidth(os.Stdout)
	}
	os.Exit(run(sh, os.Args[1:]))
}

// shell is what a command may touch of the process besides its flags.
type shell struct {
	in   io.Reader
	out  io.Writer // the result alone
	err  io.Writer // what is said to a person
	term bool      // err is a terminal

	columns int  // how wide out is, in cells; 0 if it is no terminal
	colour  bool // out takes colour
}

// say writes to a person. Much of it quotes what others chose, also whoever
// answers in place of the hub, and none of that may command the terminal.
func (sh *shell) say(format string, args ...any) {
	fmt.Fprintln(sh.err, templates.Text(fmt.Sprintf(format, args...)))
}

// print writes a line of the result.
func (sh *shell) print(s string) error {
	if _, err := fmt.Fprintln(sh.out, s); err != nil {
		return fmt.Errorf("write the result: %w", err)
	}
	return nil
}

// isTerminal reports whether f is a terminal, or a device that nobody reads,
// where it makes no difference.
func isTerminal(f *os.File) bool {
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

// commands are all there are, in the order of the help.
type commands struct {
	Colour string `name:"color" help:"Use colour: auto, always or never. NO_COLOR turns it off too." enum:"auto,always,never" default:"auto" placeholder:"WHEN"`

	Demo  demoCmd  `cmd:"" group:"Start here:" help:"Try everything on this machine, with nothing set up."`
	Init  initCmd  `cmd:"" group:"Start here:" help:"Write a config and a key to begin with, and say how to go on."`
	Check checkCmd `cmd:"" group:"Start here:" help:"Say what is wrong with a config, and who would be asked, where and when."`
	Serve serveCmd `cmd:"" group:"Start here:" help:"Run the hub."`

	Ask      askCmd      `cmd:"" group:"For agents:" help:"Ask people for a decision."`
	Notify   notifyCmd   `cmd:"" group:"For agents:" help:"Tell people something."`
	Task     taskCmd     `cmd:"" group:"For agents:" help:"Ask people to do something."`
	Wait     waitCmd     `cmd:"" group:"For agents:" help:"Wait for the answer to an ask or a task."`
	Cancel   cancelCmd   `cmd:"" group:"For agents:" help:"Take an ask back."`
	Ack      ackCmd      `cmd:"" group:"For agents:" help:"Tell people that the agent has what they said."`
	Inbox    inboxCmd    `cmd:"" group:"For agents:" help:"Take what people wrote to the agent unasked."`
	Messages messagesCmd `cmd:"" group:"For agents:" help:"Show messages and what became of them."`

	Link       linkCmd       `cmd:"" group:"For operators:" help:"Make a personal link for somebody to sign in by."`
	Token      tokenCmd      `cmd:"" group:"For operators:" help:"Make a credential for an agent or an operator."`
	Deliveries deliveriesCmd `cmd:"" group:"For operators:" help:"Show what is to be got done, and have it tried again."`
	Events     eventsCmd     `cmd:"" group:"For operators:" help:"Show the history of a message, and whether it was changed."`
	Stats      statsCmd      `cmd:"" group:"For operators:" help:"Show what the hub holds and does now."`
	Backup     backupCmd     `cmd:"" group:"For operators:" help:"Copy the database, also of a running hub."`
	Slack      slackCmd      `cmd:"" group:"For operators:" help:"Set up Slack."`
	Mail       mailCmd       `cmd:"" group:"For operators:" help:"Show what the hub makes of mail."`
	Preview    previewCmd    `cmd:"" group:"For operators:" help:"Show what a message would look like in a channel."`

	Config     configCmd     `cmd:"" group:"More:" help:"Explain the keys of the config."`
	Completion completionCmd `cmd:"" group:"More:" help:"Print a script that completes this in a shell."`
	Version    versionCmd    `cmd:"" group:"More:" help:"Say which version this is."`
}

const description = `Beckon is a hub where agents reach people: an agent asks, people answer where they are.

Start with "beckon demo". Commands that talk to a hub read BECKON_URL, BECKON_TOKEN and BECKON_AGENT; BECKON_TOKEN is an agent's credential, or an operator's.

Exit codes:

    0  answered, completed, or done        5  cancelled
    1  internal                            6  still open
    2  usage or config                     7  refused by the hub
    3  declined, or can't be done          8  the hub can't be reached
    4  expired (with a default: applied)`

// run runs one command line and returns its exit code.
func run(sh *shell, args []string) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	// After the first signal the second one has its usual effect again.
	defer context.AfterFunc(ctx, stop)()

	var cmds commands
	helped := false
	parser, err := kong.New(&cmds,
		kong.Name("beckon"), kong.Description(description),
		kong.Writers(sh.out, sh.err),
		kong.Exit(func(int) { helped = true }), // it has printed the help
		kong.ConfigureHelp(kong.HelpOptions{Compact: true, NoExpandSubcommands: true}),
		kong.BindTo(ctx, (*context.Context)(nil)),
		kong.Bind(sh),
	)
	if err != nil {
		return fail(sh, fmt.Errorf("set up the command line: %w", err))
	}
	if len(args) > 0 && args[0] == "help" { // as people try it
		args = append(slices.Clone(args[1:]), "--help")
	}
	k, err := parser.Parse(args)
	if helped {
		return exitOK
	}
	if err != nil {
		return fail(sh, parseError(err))
	}
	sh.colour = useColour(cmds.Colour, sh.columns > 0)
	return fail(sh, k.Run())
}

// parseError says how to go on after a command line that can't be read.
func parseError(err error) error {
	help := "beckon --help"
	if e, ok := errors.AsType[*kong.ParseError](err); ok && e.Context != nil && e.Context.Command() != "" {
		help = "beckon " + commandWords(e.Context) + " --help"
	}
	return usage("%v (see %s)", err, help)
}

// commandWords is the command that a line names, without its arguments.
func commandWords(k *kong.Context) string {
	var words []string
	for _, p := range k.Path {
		if p.Command != nil {
			words = append(words, p.Command.Name)
		}
	}
	return strings.Join(words, " ")
}
