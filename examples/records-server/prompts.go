package main

import (
	"context"
	"encoding/json"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/flowgate-mcp/flowgate/examples/internal/serve"
)

const (
	summarizePrompt = "summarize_customer"

	// maxCompletions is the most that one completion may hold.
	maxCompletions = 100
)

// customerFile is what a summary is written from.
type customerFile struct {
	Customer record   `json:"customer"`
	Orders   []record `json:"orders"`
	Invoices []record `json:"invoices"`
}

func (r *records) summarizeCustomer(_ context.Context, req mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
	id := req.Params.Arguments["id"]
	customer, err := r.data.get(customersTable, id)
	if err != nil {
		return nil, err
	}
	file := customerFile{Customer: customer, Orders: r.data.where("orders", "customer", id), Invoices: []record{}}
	for _, order := range file.Orders {
		file.Invoices = append(file.Invoices, r.data.where("invoices", "order", order["id"])...)
	}
	text, err := json.MarshalIndent(file, "", "  ")
	if err != nil {
		return nil, err
	}
	ask := "Summarise this customer in three sentences: who they are, what they buy, what they owe.\n\n" + string(text)
	return mcp.NewGetPromptResult("Summary of "+customer["name"], []mcp.PromptMessage{
		mcp.NewPromptMessage(mcp.RoleUser, mcp.NewTextContent(ask)),
	}), nil
}

// CompletePromptArgument completes the id of summarize_customer. mcp-go asks
// for any prompt's name, also for one that does not exist.
func (r *records) CompletePromptArgument(_ context.Context, prompt string, arg mcp.CompleteArgument, _ mcp.CompleteContext) (*mcp.Completion, error) {
	r.calls.Hit(serve.CompletePrompt)
	return r.completeID(prompt == summarizePrompt, arg), nil
}

// CompleteResourceArgument completes the id of records://customers/{id}.
// mcp-go asks for any URI, also for one that nothing is registered for.
func (r *records) CompleteResourceArgument(_ context.Context, uri string, arg mcp.CompleteArgument, _ mcp.CompleteContext) (*mcp.Completion, error) {
	r.calls.Hit(serve.CompleteResource)
	return r.completeID(uri == customerPattern, arg), nil
}

func (r *records) completeID(known bool, arg mcp.CompleteArgument) *mcp.Completion {
	if !known || arg.Name != "id" {
		return &mcp.Completion{Values: []string{}}
	}
	ids, total := r.data.ids(customersTable, arg.Value, maxCompletions)
	return &mcp.Completion{Values: ids, Total: total, HasMore: total > len(ids)}
}
