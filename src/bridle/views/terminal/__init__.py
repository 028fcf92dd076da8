"""Terminal output: conversations, outcomes, receipts and running loops as styled lines; imports no other view."""
