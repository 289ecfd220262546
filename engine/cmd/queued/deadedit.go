package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/pronybench/prony/engine/adminpb"
)

func (a deadCommands) edit() *cobra.Command {
	var f enqueueFlags // only its payload is used
	var headers map[string]string
	var removeHeaders bool
	c := &cobra.Command{
		Use:   "edit ID [PAYLOAD]",
		Short: "Replace the payload or the headers of a dead letter",
		Long: `Replaces the payload or the headers of a dead letter, or both, before it is redriven. The dead letter keeps its id
and its history. Without a payload and --file, the payload stays. Without --header and --remove-headers, the
headers stay.`,
		Example: `  queued dead edit 0000000000000000000000g1 '{"to": "jo@example.org"}'
  queued dead edit 0000000000000000000000g1 --file picture.jpg
  queued dead edit 0000000000000000000000g1 --header kind=welcome --header trace=7f3a`,
		Args: func(c *cobra.Command, args []string) error {
			if len(args) < 1 || len(args) > 2 {
				return fmt.Errorf("'%s' takes ID and at most one payload: got %d arguments, put the payload in quotes", c.CommandPath(), len(args))
			}
			return nil
		},
	}
	c.Flags().StringVar(&f.file, "file", "", "read the payload from this file")
	c.Flags().Var(headersValue{&headers}, "header", "header, as in kind=welcome; may be repeated. They replace all headers")
	c.Flags().BoolVar(&removeHeaders, "remove-headers", false, "remove all headers")
	f.connection = a.connect(c, true, true)
	c.RunE = func(c *cobra.Command, args []string) error {
		in := &adminpb.EditDeadRequest{Tenant: f.connection.tenant, Id: args[0], Headers: headers, RemoveHeaders: removeHeaders}
		switch {
		case len(args) == 2 || f.file != "":
			var err error
			if in.Payload, err = f.payload(c.Context(), args[1:]); err != nil {
				return err
			}
			if in.Payload == nil {
				in.Payload = []byte{}
			}
		case len(headers) == 0 && !removeHeaders:
			return usageError{errors.New("nothing to change: pass a payload, --file, --header or --remove-headers")}
		}
		return f.connection.adminService(c, func(ctx context.Context, api adminpb.AdminServiceClient) error {
			if _, err := api.EditDead(ctx, in); err != nil {
				return err
			}
			return a.print(members{{"id", in.GetId()}}, func(t *table) { t.row(in.GetId() + " edited") })
		})
	}
	return c
}
