"""Why a variant gains or loses: what was promised, accepted, stalled and computed twice."""
