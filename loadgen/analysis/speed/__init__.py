"""Models of step time, and what follows from them: break-even, scaling, equal memory."""
