/// Lets other tasks run until the condition holds. Gives up after ten minutes, which only a failing test takes.
package func eventually(
    isolation: isolated (any Actor)? = #isolation, _ condition: () -> Bool
) async {
    let end = ContinuousClock.now + .seconds(600)
    while !condition(), ContinuousClock.now < end { await Task.yield() }
}
