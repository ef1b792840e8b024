@MainActor var companion: Companion { Companion() }
