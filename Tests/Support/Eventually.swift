/// Lets others go on until the condition holds. Gives up after a minute, which is only for what never comes.
package func eventually(
    isolation: isolated (any Actor)? = #isolation, _ condition: () -> Bool
) async {
    let end = ContinuousClock.now + .seconds(60)
    while !condition(), ContinuousClock.now < end { await Task.yield() }
}
