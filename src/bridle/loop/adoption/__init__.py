"""What the user changed while no driver ran: found and adopted when one begins. It may not import control."""
