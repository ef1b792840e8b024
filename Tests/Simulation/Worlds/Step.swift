/// A step on the agenda.
enum Step {
    case frame(slot: Int32)
    case exchange(peer: Int32)
    case tap(Int32)
    case fault(Int32)
    case faultEnd(Int32)
    case lie(Int32)
    case mend
    case start(peer: Int32)
    /// Users decide about peers that can't proceed on their own.
    case decide
}
