/// What is due next.
enum Step {
    case frame(slot: Int32)
    case exchange(peer: Int32)
    case tap(Int32)
    case fault(Int32)
    case faultEnd(Int32)
    case lie(Int32)
    case mend
    case start(peer: Int32)
    /// Users decide about what still stands still.
    case decide
}
